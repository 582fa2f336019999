import pytest

from lapwing.vocabulary.errors import SettingsError
from lapwing.workspace.workspace import read_key, renew_key


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o660, 0o644], ids=oct)
def test_a_key_that_the_group_or_others_may_touch_is_refused(tmp_path, mode) -> None:
    renew_key(tmp_path)
    (tmp_path / "stream.key").chmod(mode)
    with pytest.raises(SettingsError, match="chmod 600"):
        read_key(tmp_path)


@pytest.mark.parametrize("mode", [0o600, 0o400], ids=oct)
def test_a_key_that_only_its_owner_may_touch_is_read(tmp_path, mode) -> None:
    renew_key(tmp_path)
    (tmp_path / "stream.key").chmod(mode)
    assert len(read_key(tmp_path)) == 32


@pytest.mark.parametrize("damage", [b"\xff" * 64, b"\x80", "é".encode(), b"\x00" * 64, b"", b"zz" * 32])
def test_a_damaged_key_is_a_refusal_whatever_its_bytes(tmp_path, damage) -> None:
    renew_key(tmp_path)
    (tmp_path / "stream.key").write_bytes(damage)
    with pytest.raises(SettingsError, match="holds no key; bring the right file back"):
        read_key(tmp_path)
