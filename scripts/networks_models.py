"""Eight untrained networks for inference, for scripts/networks.py. Each function makes a model and its arguments."""
import torch
from torch import nn


def image(model, batch, size, dtype, last=True, channels=3):
    """Makes a convolutional network and a batch of images, channels-last if `last` is true."""
    form = torch.channels_last if last else torch.contiguous_format
    x = torch.randn(batch, channels, size, size).to(dtype).to(memory_format=form)
    return model.to(dtype).to(memory_format=form), (x,)


def resnet50():
    import torchvision

    return image(torchvision.models.resnet50(weights=None), 64, 224, torch.float16)


def convnext():
    import torchvision

    return image(torchvision.models.convnext_tiny(weights=None), 32, 224, torch.bfloat16)


def efficientnet():
    import timm

    return image(timm.create_model("efficientnet_b0"), 64, 224, torch.float16)


def vit():
    import torchvision

    model = torchvision.models.VisionTransformer(
        image_size=224, num_layers=12, patch_size=16, num_heads=12, hidden_dim=768, mlp_dim=3072)
    torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # torchvision initializes this weight with zeros
    return image(model, 32, 224, torch.bfloat16, last=False)


def tokens(model, batch, length, dtype, vocabulary):
    return model.to(dtype), (torch.randint(vocabulary, (batch, length)),)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=2048, intermediate_size=5632, num_hidden_layers=8, num_attention_heads=32,
                         num_key_value_heads=8, vocab_size=32000, use_cache=False)
    return tokens(LlamaForCausalLM(config), 1, 1024, torch.bfloat16, config.vocab_size)


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=12)
    return tokens(BertModel(config), 16, 384, torch.float16, config.vocab_size)


def twice(channels, out):
    """Two convolutions, as in each level of a U-Net."""
    layers = []
    for c in (channels, out):
        layers += [nn.Conv2d(c, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, widths, classes=2):
        super().__init__()
        self.down = nn.ModuleList(twice(c, w) for c, w in zip((3, *widths), widths))
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList(nn.ConvTranspose2d(w, w // 2, 2, 2) for w in widths[:0:-1])
        self.merge = nn.ModuleList(twice(w, w // 2) for w in widths[:0:-1])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for level in self.down[:-1]:
            kept.append(x := level(x))
            x = self.pool(x)
        x = self.down[-1](x)
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([kept.pop(), up(x)], 1))
        return self.head(x)


def unet():
    return image(UNet((64, 128, 256, 512, 1024)), 8, 256, torch.bfloat16)


class WaveNet(nn.Module):
    """Dilated convolutions with gates, whose outputs are added up."""

    def __init__(self, width, layers, classes=256):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        steps = [2 ** (i % 10) for i in range(layers)]
        self.dilated = nn.ModuleList(nn.Conv1d(width, 2 * width, 3, padding=d, dilation=d) for d in steps)
        self.mixed = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(layers))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, classes, 1))

    def forward(self, x):
        x, heard = self.first(x), 0
        for dilated, mixed in zip(self.dilated, self.mixed):
            a, b = dilated(x).chunk(2, 1)
            more, skip = mixed(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
            x, heard = x + more, heard + skip
        return self.last(heard)


def wavenet():
    return WaveNet(128, 20), (torch.randn(8, 1, 8000),)


NETWORKS = {f.__name__: f for f in (resnet50, vit, llama, convnext, unet, efficientnet, bert, wavenet)}


def made(name):
    """Makes a network and its arguments, with the same random numbers each time."""
    torch.manual_seed(0)
    model, inputs = NETWORKS[name]()
    return model.cuda().eval(), tuple(t.cuda() for t in inputs)
