"""Private gradient descent beside Opacus: noise and accuracy at the same (epsilon, delta), time of a fit and of a step.

    make bench-learning                     two minutes, on one core
    .venv-learning/bin/python benchmarks/learning.py --device cuda

Tables that scikit-learn ships, with public scales; the same clip, step size, momentum, rate and steps for both; noise
of each by its own accountant. Opacus samples as Poisson does, and its noise is PyTorch's. What is called plain is a
step of PyTorch without privacy. Examples a second are of one step, with its sample drawn before.
"""

import argparse
import time
import warnings
from fractions import Fraction

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from sklearn.datasets import load_breast_cancer, load_digits
from torch import nn
from torch.nn import functional

from _report import Goals, clock, table
from lapwing.learning.descent import Descent, Progress
from lapwing.learning.devices import arrays_on
from lapwing.learning.features import ONE
from lapwing.learning.networks import GRADIENT_BITS, LayeredNetwork, Output
from lapwing.mechanisms.gaussian import smallest_variance
from lapwing.mechanisms.private_gradients import PrivateGradients, descent_event

DELTA = "1e-5"
CLIP, STEP, MOMENTUM = 0.5, 0.5, 0.9
TABLES = {"digits": (128, 300), "breast cancer": (64, 200)}
BATCH = 2048


def data(name):
    """Return inputs from -1 to 1 by public scales, and classes: four fifths to train on, one to test."""
    loaded = load_digits() if name == "digits" else load_breast_cancer()
    if name == "digits":
        x = loaded.data / 16 - 0.3
    else:
        unit = 10 ** np.round(np.log10(np.abs(loaded.data).mean(0)))
        x = np.clip((loaded.data - unit) / unit / 2, -1, 1)
    order = np.random.default_rng(0).permutation(len(x))  # noqa: TID251 - which people are tested on
    cut = int(0.8 * len(x))
    return x[order][:cut], loaded.target[order][:cut], x[order][cut:], loaded.target[order][cut:]


def ours(widths, x, y, variance, schedule, on):  # noqa: PLR0917 - a fit is said in one line
    """Return the weights that private descent finds, by exact whole numbers."""
    batch, steps = schedule
    rate = Fraction(batch, len(x))
    network = LayeredNetwork(output=Output.CLASSES, widths=(x.shape[1] + 1, *widths))
    descent = Descent(
        mechanism=PrivateGradients(rate=rate, sigma_squared=variance, clip=int(CLIP * 2**GRADIENT_BITS)),
        steps=steps,
        step_size=Fraction(STEP),
        momentum=Fraction(MOMENTUM),
        expected=rate * len(x),
        bits=GRADIENT_BITS,
    )
    rows = on.here(np.hstack([whole(x), y[:, None]]))
    return network, descent.run(network, rows, Progress.begin(network), steps, on).mean


def whole(x):
    return np.hstack([np.rint(x * ONE).astype(np.int64), np.full((len(x), 1), ONE)])


def module(inputs, widths):
    layers, before = [], inputs
    for width in widths:
        layers += [nn.Linear(before, width), nn.Tanh()]
        before = width
    return nn.Sequential(*layers[:-1])


def opacus(widths, x, y, sigma, schedule, device):  # noqa: PLR0917 - a fit is said in one line
    batch, steps = schedule
    model = module(x.shape[1], widths).to(device)
    optimizer = torch.optim.SGD(model.parameters(), STEP, momentum=MOMENTUM)
    rows = torch.utils.data.TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=torch.utils.data.DataLoader(rows, batch_size=batch),
        noise_multiplier=sigma,
        max_grad_norm=CLIP,
        poisson_sampling=True,
    )
    taken = 0
    while taken < steps:
        for some, classes in loader:
            if taken == steps:
                break
            optimizer.zero_grad()
            if len(some):
                functional.cross_entropy(model(some.to(device)), classes.to(device)).backward()
            optimizer.step()
            taken += 1
    return model


def accuracy_of(options, goals):
    rows, on = [], arrays_on(options.device)
    for name, (batch, steps) in TABLES.items():
        x, y, test, truth = data(name)
        rate, classes = Fraction(batch, len(x)), int(y.max()) + 1
        for hidden in ((), (64,)):
            for epsilon in (1, 3):
                variance = smallest_variance(
                    lambda one, rate=rate, steps=steps: descent_event(rate, one, steps), epsilon=epsilon, delta=DELTA
                )
                sigma = get_noise_multiplier(
                    target_epsilon=epsilon,
                    target_delta=float(DELTA),
                    sample_rate=float(rate),
                    steps=steps,
                    accountant="prv",
                )
                widths, found, times = (*hidden, classes), {"ours": [], "opacus": []}, {"ours": 0.0, "opacus": 0.0}
                for seed in range(options.seeds):
                    torch.manual_seed(seed)
                    begun = clock()
                    network, weights = ours(widths, x, y, variance, (batch, steps), on)
                    times["ours"] += clock() - begun
                    found["ours"].append((network.outputs(weights, whole(test)).argmax(1) == truth).mean())
                    begun = clock()
                    model = opacus(widths, x, y, sigma, (batch, steps), options.device or "cpu")
                    times["opacus"] += clock() - begun
                    with torch.no_grad():
                        said = model(torch.tensor(test, dtype=torch.float32, device=options.device or "cpu"))
                    found["opacus"].append((said.argmax(1).cpu().numpy() == truth).mean())
                mean = {who: float(np.mean(several)) for who, several in found.items()}
                label = f"{name}, {'linear' if not hidden else f'{hidden[0]} between'}, epsilon {epsilon}"
                own = float(variance) ** 0.5
                rows.append(
                    [label, f"{own:.3f}", f"{sigma:.3f}", f"{mean['ours']:.3f}", f"{mean['opacus']:.3f}"]
                    + [f"{1000 * times[who] / options.seeds:.0f}" for who in ("ours", "opacus")]
                )
                goals.at_most(f"{label}: sigma over that of Opacus", own / sigma, 1)
                goals.at_least(f"{label}: points above Opacus", 100 * (mean["ours"] - mean["opacus"]), -1, "")
    header = ["table", "sigma", "Opacus", "accuracy", "Opacus", "ms a fit", "Opacus"]
    table(f"{options.seeds} fits each, delta {DELTA}", header, rows)


def seconds(step, device):
    """Return seconds of a step, the best of five slices; of a device by the wall, else by the processor."""
    now = time.perf_counter if device == "cuda" else clock
    step()
    best = float("inf")
    for _ in range(5):
        begun = now()
        for _ in range(3):
            step()
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, (now() - begun) / 3)
    return best


def speed_of(options, goals, widths, batch):
    """Compare one step of a dense network on pictures of 784 points."""
    device, rng = options.device or "cpu", np.random.default_rng(1)  # noqa: TID251 - made-up pictures
    x, y = rng.uniform(-1, 1, (batch, 784)), rng.integers(0, 10, batch)
    network = LayeredNetwork(output=Output.CLASSES, widths=(785, *widths))
    mechanism = PrivateGradients(rate=Fraction(1), sigma_squared=Fraction(1), clip=1 << 27)
    weights, cases = network.start(), {}
    size = f"{sum(one.size for one in weights):,} weights"
    numpy, there = arrays_on(None), arrays_on(device)
    for name, on in (("ours, NumPy", numpy), (f"ours, PyTorch on {device}", there)):
        rows = on.here(np.hstack([whole(x), y[:, None]]))
        cases[name] = lambda on=on, rows=rows: mechanism.release(
            rows, network.gradients_at(weights, on), network.shapes, on
        )
    empty = np.zeros((0, 786), np.int64)
    cases["of it, the exact noise"] = lambda: mechanism.release(
        empty, network.gradients_at(weights, numpy), network.shapes, numpy
    )
    some, classes = torch.tensor(x, dtype=torch.float32, device=device), torch.tensor(y, device=device)
    cases["plain"] = plain_step(some, classes, widths)
    for mode in ("hooks", "ghost"):
        cases[f"Opacus, {mode}"] = opacus_step(some, classes, widths, mode)
    taken = {name: seconds(step, options.device) for name, step in cases.items()}
    rows = [[name, f"{1000 * one:.1f}", f"{batch / one:,.0f}"] for name, one in taken.items()]
    table(f"a step of {batch:,} examples, {size}", ["", "ms", "examples a second"], rows)
    best = min(taken["ours, NumPy"], taken[f"ours, PyTorch on {device}"])
    goals.at_least(f"{size}: examples a second over Opacus with hooks", taken["Opacus, hooks"] / best, 1.7)
    if batch > BATCH:
        goals.at_most(f"{size}: a step over a plain one", best / taken["plain"], 4)
    else:
        noise = taken["of it, the exact noise"] / taken["ours, NumPy"]
        goals.at_most(f"{size}: exact noise, share of a step", noise, 0.05, "")


def plain_step(x, y, widths):
    model = module(784, widths).to(x.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def opacus_step(x, y, widths, mode):
    model = module(784, widths).to(x.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x[:8].cpu(), y[:8].cpu()), batch_size=4)
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        criterion=nn.CrossEntropyLoss(),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        poisson_sampling=False,
        grad_sample_mode=mode,
    )
    model, optimizer = made[:2]
    loss = made[2] if mode == "ghost" else functional.cross_entropy

    def step():
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="where PyTorch computes, such as cuda; without one both use the processor")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    goals = Goals()
    accuracy_of(options, goals)
    speed_of(options, goals, (100, 10), BATCH)
    if options.device:
        speed_of(options, goals, (250, 10), BATCH)
        speed_of(options, goals, (1024, 1024, 10), 2 * BATCH)
    else:
        goals.not_measured("198,760 and 1,863,690 weights beside Opacus and a plain step", "say --device cuda")
    goals.close()


if __name__ == "__main__":
    main()
