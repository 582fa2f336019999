"""What the packages of the local model need for one cell, as JSON: run by surveys.py in an environment of their own.

python benchmarks/_surveys_peers.py ANSWERS EPSILON PEOPLE      squared errors, and seconds for a report collected
python benchmarks/_surveys_peers.py words BITS EPSILON PEOPLE   the words that PEM finds, of numbers on stdin
"""

import contextlib
import io
import json
import sys
from time import process_time

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

RNG = np.random.default_rng(3)  # noqa: TID251 - made-up people


def index(answer):
    return answer


def ask(client, server, truths, counts):
    """Return the squared error of a count, and the seconds that a report takes the server."""
    spent = 0.0
    for truth in truths:
        report = client.privatise(int(truth))
        start = process_time()
        server.aggregate(report)
        spent += process_time() - start
    found = [server.estimate(answer, suppress_warnings=True) for answer in range(len(counts))]
    return float(np.mean((np.array(found) - counts) ** 2)), spent / len(truths)


def subset(truths, answers, epsilon, counts):
    """Return the squared error of subset selection as multi-freq-ldpy draws it, without its clipping at zero."""
    size = int(max(1, np.rint(answers / (np.exp(epsilon) + 1))))
    whole = size * np.exp(epsilon) + answers - size
    kept = size * np.exp(epsilon) / whole
    lie = ((size - 1) * size * np.exp(epsilon) + (answers - size) * size) / ((answers - 1) * whole)
    hits = np.zeros(answers)
    for truth in truths:
        hits[SS_Client(int(truth), answers, epsilon)] += 1
    return float(np.mean(((hits - len(truths) * lie) / (kept - lie) - counts) ** 2))


def compare(answers, epsilon, people):
    weights = 1 / np.arange(1, answers + 1)
    truths = RNG.choice(answers, people, p=weights / weights.sum())
    counts = np.bincount(truths, minlength=answers)
    words = {"epsilon": epsilon, "d": answers, "index_mapper": index}
    told = {"subset selection (multi-freq-ldpy)": subset(truths, answers, epsilon, counts)}
    told["OUE (pure-ldp)"], _ = ask(UEClient(**words, use_oue=True), UEServer(**words, use_oue=True), truths, counts)
    server = HadamardResponseServer(epsilon, answers, index_mapper=index)
    client = HadamardResponseClient(epsilon, answers, server.get_hash_funcs(), index_mapper=index)
    told["Hadamard response (pure-ldp)"], _ = ask(client, server, truths, counts)
    few = truths[: max(20, min(people, 2_000_000 // answers))]
    olh = ask(
        LHClient(**words, use_olh=True), LHServer(**words, use_olh=True), few, np.bincount(few, minlength=answers)
    )
    told["OLH (pure-ldp)"] = olh[0] * people / len(few)
    return {"squared": told, "a report": olh[1]}


def find(bits, epsilon):
    words = {"epsilon": epsilon, "start_length": 0, "max_string_length": bits, "fragment_length": bits // 2}
    words["alphabet"] = ["0", "1"]
    client = PEMClient(**words)
    server = PEMServer(**words)
    for number in json.load(sys.stdin):
        server.aggregate(client.privatise(f"{number:0{bits}b}"))
    return [int(word, 2) for word in server.find_heavy_hitters(k=32)[0]]


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):  # pure-ldp tells what it does
        if sys.argv[1] == "words":
            made = find(int(sys.argv[2]), float(sys.argv[3]))
        else:
            made = compare(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps(made))
