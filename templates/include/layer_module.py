# nn.Conv2d of conv2d
LAYER = next(kind for name, kind in vars(nn).items() if name.lower() == OPERATOR.replace("_", ""))
NAMES = {"kernel": "kernel_size", "c_out": "out_channels", "c": "in_channels"}  # PyTorch's


class ModelNew(nn.Module):
    """As PyTorch's layer of the operator's name, with its arguments; a convolution has no bias unless it is asked for.
    layout is how tensors lie: nchw, nhwc, or auto, as the input does; else as tuned. An epilogue's tensors follow x."""

    def __init__(self, *arguments, layout: str = None, **named):
        super().__init__()
        given = inspect.signature(LAYER).bind(*arguments, **named).arguments
        need(given.get("divisor_override") != 0, "divisor_override must not be zero")
        # It computes nothing: it holds the arguments, and parameters with PyTorch's names and initial values.
        layer = LAYER(**{**({"bias": False, "dtype": DTYPE} if "bias" in PARAMETERS else {}), **given})
        need(not getattr(layer, "return_indices", False), "return_indices is not supported")
        self.add_module(OPERATOR, layer)
        own = {name: getattr(layer, NAMES.get(name, name)) for name in PARAMETERS if name not in ("bias", "layout")}
        if "divisor_override" in own:
            own["divisor_override"] = own["divisor_override"] or 0
        if "bias" in PARAMETERS:
            own["bias"] = layer.bias is not None
        padding = 0 if isinstance(own["padding"], str) else own["padding"]
        self.settings = settings(**{**own, "padding": padding}, layout=layout)
        if "bias" in PARAMETERS:
            layer.weight.data = laid(layer.weight.data, self.settings["layout"])
        # The kernel pads zeros, as many before as behind; what is more, or other, is padded first.
        mode = getattr(layer, "padding_mode", "zeros")
        self.mode, self.first = "constant" if mode == "zeros" else mode, margins(self.settings, own["padding"])
        within = [0] * len(PARAMETERS["padding"])
        if mode == "zeros":
            within = self.first[::2]
            self.first = [size - within[i // 2] for i, size in enumerate(self.first)]
        self.settings.update(zip(PARAMETERS["padding"], reversed(within)))

    def forward(self, x: torch.Tensor, *beside: torch.Tensor) -> torch.Tensor:
        if x.dim() == RANKS[0] - 1:  # without a batch
            return self.forward(x.unsqueeze(0), *beside).squeeze(0)
        if any(self.first):
            x = torch.ops.aten.pad(x, self.first, self.mode)
        layer = getattr(self, OPERATOR)
        return run(self.settings, x, *((layer.weight, layer.bias) if "bias" in PARAMETERS else ()), *beside)


def margins(s, padding):
    """What is padded before and behind along each axis, the last one first: as many as
    numbers say, none for "valid", and for "same" as many as the kernel takes away."""
    pairs = zip(each(s, "padding"), each(s, "padding"))
    if padding == "same":
        taken = [dilation * (kernel - 1) for kernel, dilation in zip(each(s, "kernel"), each(s, "dilation"))]
        pairs = [(t // 2, t - t // 2) for t in taken]
    return [size for pair in reversed(list(pairs)) for size in pair]


def get_inputs():
    return [laid(torch.rand(*list(TUNED.values())[:RANKS[0]], dtype=DTYPE), TUNED["layout"]),
            *epilogue_inputs(3 if "bias" in PARAMETERS else 1)]


def get_init_inputs():
    own, found = {theirs: name for name, theirs in NAMES.items()}, []
    for name, argument in inspect.signature(LAYER).parameters.items():
        name = own.get(name, name)
        if name not in PARAMETERS and name not in ("c", "return_indices"):
            return found
        value = TUNED["c"] if name == "c" else tuned(name) if name in PARAMETERS else False
        found.append(bool(value) if isinstance(argument.default, bool) else value or None if name == "divisor_override" else value)
    return found
