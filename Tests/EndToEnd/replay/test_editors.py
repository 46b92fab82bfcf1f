# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Plugins of editors, tested without a network: the service of the editor plays a cassette."""

import contract
import pytest
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def tape(tmp_path, origin):
    """A cassette of an origin that is gone when it plays."""
    path = tmp_path / "editor.har"
    with contract.Wire() as wire:
        result(wire.call("replay.start", {"path": str(path)}))
        assert get(wire, origin + "/headers")["ok"]
        result(wire.call("replay.stop", {}))
    path.write_text(path.read_text().replace(origin, NOWHERE))
    return str(path)


def test_neovim_plays_a_cassette(editors, tape):
    seen = editors.neovim("""
      vim.env.OUTRIDER_REPLAY = tape
      outrider.setup({ transport = "stdio" })
      local page = outrider.sync("get", url .. "/headers")
      local _, err = outrider.sync("get", url .. "/other")
      finish({ status = page.status, text = page:text(), code = err.code })
    """, url=NOWHERE, tape=tape)  # fmt: skip
    assert seen == {"status": 200, "text": "the same field twice\n", "code": 2200}


def test_emacs_plays_a_cassette(editors, tape):
    seen = editors.emacs("""
      (setenv "OUTRIDER_REPLAY" tape)
      (setq outrider-transport 'stdio)
      (let ((page (outrider 'get (concat url "/headers") :as 'response)))
        (finish (list :status (outrider-response-status page)
                      :code (condition-case problem
                                (progn (outrider 'get (concat url "/other") :as 'response) 0)
                              (error (if (string-match-p "has no response" (format "%S" problem)) 2200 1))))))
    """, url=NOWHERE, tape=tape)  # fmt: skip
    assert seen == {"status": 200, "code": 2200}
