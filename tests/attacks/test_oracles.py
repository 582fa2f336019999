"""The coins of attackers: the same for the same seed, and lawful."""

import numpy as np

from lapwing.attacks.oracles import Coins


def test_the_same_seed_and_purpose_give_the_same_coins_and_others_do_not() -> None:
    drawn = [Coins(seed, purpose).uniforms(8).tolist() for seed in (1, 2) for purpose in ("a", "b")]
    assert drawn[0] == Coins(1, "a").uniforms(8).tolist()
    assert len({tuple(one) for one in drawn}) == 4
    coins = Coins(1, "a")
    assert coins.uniforms(8).tolist() != coins.uniforms(8).tolist()


def test_coins_follow_their_laws() -> None:
    coins, count = Coins(1, "laws"), 200_000
    assert abs(coins.flips(count).mean() - 0.5) < 0.008
    assert coins.flips(3, 5).shape == (3, 5)
    assert abs(coins.normals(count).std() - 1) < 0.015
    laplace = coins.laplaces(count)
    assert abs(np.abs(laplace).mean() - 1) < 0.02
    assert abs(np.mean(laplace > 0) - 0.5) < 0.008
    uniform = coins.uniforms(count)
    assert 0 < uniform.min() < uniform.max() < 1
