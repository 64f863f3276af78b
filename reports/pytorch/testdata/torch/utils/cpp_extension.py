import torch

launches = []
builds = []


class Extension:
    def forward(self, tensors, shape, sizes, is_tuned):
        launches.append({"output": list(shape), "sizes": list(sizes), "tuned": is_tuned})
        return torch.Tensor(*shape)


def load_inline(**arguments):
    builds.append(arguments)
    return Extension()
