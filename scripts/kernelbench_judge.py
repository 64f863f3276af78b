"""A process that does on the GPU what PyTorch is needed for. It outlives one question,
since PyTorch takes seconds to start, and a question may outlive it: a kernel that hangs
or breaks the GPU's context costs one answer."""
import dataclasses
import gc
import multiprocessing
import os

LIMIT_S = 120  # for one answer


class NoAnswer(Exception):
    """Why there is none, in a line."""


@dataclasses.dataclass
class About:
    """The GPU, and the PyTorch that uses it."""

    name: str
    capability: tuple  # (9, 0)
    torch: str


class Judge:
    """Asks the process, and starts another when it is gone."""

    def __init__(self, options):
        self.options = options
        self.start()

    def start(self):
        spawning = multiprocessing.get_context("spawn")
        self.connection, theirs = spawning.Pipe()
        self.process = spawning.Process(target=serve, args=(theirs, self.options), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, question, *about):
        """The answer to a question, which is the name of a method of Questions."""
        try:
            self.connection.send((question, about))
            if not self.connection.poll(LIMIT_S):
                raise NoAnswer(f"no answer in {LIMIT_S} s")
            answer, fault, goes_on = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(5)
            self.restart()
            raise NoAnswer("the process that asked KernelBench died") from None
        except NoAnswer:
            self.restart()
            raise
        if not goes_on:
            self.restart()
        if fault:
            raise NoAnswer(fault)
        return answer

    def restart(self):
        self.process.kill()
        self.process.join()
        self.start()


class Questions:
    """What can be asked."""

    def __init__(self, options):
        from kernelbench_evaluation import import_kernelbench

        self.kernelbench = import_kernelbench(options.checkout, options.inputs)
        self.options = options

    def about(self):
        import torch

        return About(torch.cuda.get_device_name(0), torch.cuda.get_device_capability(0), torch.__version__)

    def math(self, operator, shape, parameters):
        """The math mode that PyTorch computes a convolution in, if that is clear."""
        import torch

        import torch_operators
        from torch_roundings import mode_of_convolution

        weight = torch_operators.weights(operator, shape, parameters)[0]["weight"]
        lists = {name: list(v) if isinstance(v, tuple) else [v] for name, v in parameters.items()}
        with torch.no_grad():
            return mode_of_convolution(operator, tuple(shape), weight, lists)

    def evaluate(self, reference, module):
        from kernelbench_evaluation import evaluate

        return evaluate(self.kernelbench, reference, module, self.options)


def serve(connection, options):
    """Answers until nobody asks any more, or the GPU's context is broken."""
    os.dup2(2, 1)  # KernelBench talks; the table has standard output for itself
    questions = Questions(options)
    goes_on = True
    while goes_on:
        try:
            question, about = connection.recv()
        except EOFError:
            return
        answer = fault = None
        try:
            answer = getattr(questions, question)(*about)
        except Exception as e:
            fault = f"{type(e).__name__}: {e}".splitlines()[0][:200]
        goes_on = tidy()
        connection.send((answer, fault, goes_on))


def tidy():
    """Gives memory back for the next search; whether the GPU still answers."""
    import torch

    gc.collect()
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:
        return False
    return True
