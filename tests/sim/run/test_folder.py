"""A run empties only what a run has made, and has its folder for itself."""

import pytest

from sim.run.folder import FolderRefused, claim


@pytest.fixture
def home(tmp_path):
    return tmp_path / "runs"


def test_a_folder_is_made_and_an_earlier_run_is_cleared(tmp_path, home):
    directory = tmp_path / "deep" / "run"
    for _ in range(2):
        with claim(directory, home):
            assert not (directory / "report.json").exists()
            (directory / "report.json").write_text("{}")
            (directory / "part").mkdir()
            (directory / "part" / "file").touch()


def test_files_that_no_run_made_are_refused_and_stay(tmp_path, home):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(FolderRefused, match="no run made"), claim(tmp_path, home):
        pass
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_in_the_home_of_runs_everything_is_an_earlier_runs(home):
    directory = home / "default"
    directory.mkdir(parents=True)
    (directory / "old").touch()
    with claim(directory, home):
        assert not (directory / "old").exists()


def test_a_second_run_is_refused_while_the_first_holds_the_folder(tmp_path, home):
    directory = tmp_path / "run"
    with claim(directory, home):
        (directory / "frames.h5").touch()
        with pytest.raises(FolderRefused, match="another run is at work"), claim(directory, home):
            pass
        assert (directory / "frames.h5").exists()


def test_a_folder_is_free_again_after_a_run_that_failed(tmp_path, home):
    directory = tmp_path / "run"
    with pytest.raises(ValueError, match="broken"), claim(directory, home):
        raise ValueError("broken")
    with claim(directory, home):
        pass


@pytest.mark.parametrize("place", ["/proc/none/run", "file/run"])
def test_a_folder_that_cannot_be_made_is_refused_with_the_reason(tmp_path, home, place):
    (tmp_path / "file").touch()
    with pytest.raises(FolderRefused, match="cannot use"), claim(tmp_path / place, home):
        pass


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, home):
    (tmp_path / "file").touch()
    with pytest.raises(FolderRefused, match="cannot use"), claim(tmp_path / "file", home):
        pass
