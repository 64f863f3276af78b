#!/usr/bin/env python3
"""ResNet-50 and a U-Net of PyTorch's own classes, before and after `replace` with a pack.

    autotune capture -o models.yaml -- scripts/models.py --forward 10
    autotune tune --problems models.yaml
    autotune pack models
    scripts/models.py --pack models

Each model runs plain, under torch.compile and in a CUDA graph, with PyTorch's kernels and with the pack's. All
take turns. `replace` times each model itself, in the way it runs. Times are medians of CUDA events around a forward pass. A ratio has the 95 % interval of the rounds'
median. Outputs are held against double precision: the pack's may be twice as far from it as PyTorch's own. The exit
code is 1 if one is farther. `--forward N` only computes, for `autotune capture`. `--device cpu` tries the script
without a GPU; its times say nothing about one.
"""
import argparse
import copy
import importlib
import json
import pathlib
import statistics
import sys
import time

import torch
from torch import nn

ROUNDS, WARM_UP = 40, 5
LOW, HIGH = 13, 26  # of 40 sorted rounds: the interval of their median at 95 %


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.short = nn.Identity()
        if stride != 1 or channels != out:
            self.short = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + self.short(x))


def resnet50(classes=1000):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Bottleneck(channels, width, stride if i == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def twice(channels, out):
    """Two convolutions, as each level of a U-Net has them."""
    layers = []
    for c in (channels, out):
        layers += [nn.Conv2d(c, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, classes=2, widths=(64, 128, 256, 512, 1024)):
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


MODELS = {"resnet50": (resnet50, 224), "unet": (UNet, 256)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", type=pathlib.Path, help="folder that `autotune pack` wrote")
    parser.add_argument("--forward", type=int, metavar="N", help="compute N forward passes of each, and no more")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 32])
    parser.add_argument("--size", type=int, help="height and width of the pictures; a U-Net's is a multiple of 16")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    if (options.pack is None) == (options.forward is None):
        parser.error("give --pack PACK or --forward N")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU here; --device cpu tries the script")
    if options.pack and not (options.pack / "manifest.json").is_file():
        parser.error(f"{options.pack} is no folder of a pack")
    return options


def made(name, device, size, batch, settle):
    """A model for inference and its input. To settle it, its norms see a few batches: then no value grows or fades away."""
    torch.manual_seed(0)
    make, usual = MODELS[name]
    size = size or usual
    model = make().to(device)
    with torch.no_grad():
        for _ in range(3 if settle else 0):
            model(torch.randn(4, 3, size, size, device=device))
    return model.eval(), torch.randn(batch, 3, size, size, device=device)


def package(root):
    """The pack as a Python module."""
    sys.path.insert(0, str(root / "build" / "torch-cuda"))
    return importlib.import_module(json.loads((root / "manifest.json").read_text())["name"])


def graph_of(model, x):
    """A call that replays the model's forward pass as a CUDA graph, and gives its output."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)

    def replay():
        graph.replay()
        return y

    return replay


def ways(model, x):
    """The ways to run a model, by name: calls that give its output."""
    compiled = torch.compile(model)
    calls = {"plain": lambda: model(x), "torch.compile": lambda: compiled(x)}
    if x.is_cuda:
        calls["CUDA graph"] = graph_of(model, x)
    else:
        del calls["torch.compile"]
    return calls


def milliseconds(call, device):
    if device == "cpu":
        begin = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - begin)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def in_turns(calls, device):
    """Milliseconds of each round, by call."""
    times = {key: [] for key in calls}
    for i in range(WARM_UP + ROUNDS):
        for key, call in calls.items():
            ms = milliseconds(call, device)
            if i >= WARM_UP:
                times[key].append(ms)
    return times


def distance(y, exact):
    return ((y.double() - exact).norm() / exact.norm()).item()


def compare(pack, name, batch, options):
    """Rows of the table, and whether all outputs agree."""
    model, x = made(name, options.device, options.size, batch, True)
    exact = copy.deepcopy(model).double()(x.double())
    before, after = ways(model, x), {}
    for run, way in (("plain", "plain"), ("graph", "CUDA graph"), ("compile", "torch.compile")):
        if way in before:
            other = copy.deepcopy(model)
            done = pack.replace(other, x, run)
            print(f"{name}, batch {batch}, {way}: {len(done.replaced)} modules replaced\n{done}", file=sys.stderr)
            after[way] = ways(other, x)[way]
    calls = {(way, which): call for way in before for which, call in (("before", before[way]), ("after", after[way]))}
    errors = {key: distance(call(), exact) for key, call in calls.items()}
    times = in_turns(calls, options.device)
    rows, agree = [], True
    for way in before:
        ratios = sorted(b / a for b, a in zip(times[way, "before"], times[way, "after"]))
        ours, theirs = errors[way, "after"], errors[way, "before"]
        right = ours <= max(2 * theirs, 1e-6)
        agree = agree and right
        rows.append([
            name, batch, way, *(f"{statistics.median(times[way, which]):.4g}" for which in ("before", "after")),
            f"{statistics.median(ratios):.2f}x [{ratios[LOW]:.2f}, {ratios[HIGH]:.2f}]", f"{theirs:.1e}", f"{ours:.1e}" + ("" if right else " WRONG"),
        ])
    return rows, agree


def main():
    options = arguments()
    right = True
    with torch.no_grad():
        if options.forward:
            for name in options.models:
                for batch in options.batch:
                    model, x = made(name, options.device, options.size, batch, False)
                    for _ in range(options.forward):
                        model(x)
            return
        pack = package(options.pack)
        where = torch.cuda.get_device_name(0) if options.device == "cuda" else "the CPU: times say nothing about a GPU"
        print(f"PyTorch {torch.__version__} on {where}, {time.strftime('%Y-%m-%d')}.\n")
        print("| model | batch | run | before, ms | after, ms | faster | PyTorch's error | the pack's |")
        print("| --- | ---: | --- | ---: | ---: | --- | ---: | ---: |")
        for name in options.models:
            for batch in options.batch:
                rows, agree = compare(pack, name, batch, options)
                right = right and agree
                for row in rows:
                    print("| " + " | ".join(map(str, row)) + " |", flush=True)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
