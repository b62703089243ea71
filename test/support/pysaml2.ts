// pysaml2 from Debian's package, configured as Synapse does when its administrator sets only the
// metadata of the identity provider.
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort, temporaryFolder } from "./latchkey.ts"
import { until } from "./wait.ts"

export type PySaml2 = {
  readonly entityId: string
  /** The page that signs in; it ends on a page with the assertion's content as JSON. */
  readonly login: string
  /** The metadata that its administrator registers. */
  readonly metadata: string
  readonly log: () => string
  readonly stop: () => Promise<void>
}

/**
 * Starts one that loads the identity provider's metadata from a URL. `own` contains further
 * settings.
 */
export async function startPySaml2(idpMetadata: string, own: object = {}): Promise<PySaml2> {
  const folder = temporaryFolder()
  const port = await freePort()
  const base = `http://localhost:${port}/`
  const script = join(folder.path, "synapse.py")
  writeFileSync(script, program)
  const child = spawn("/usr/bin/python3", [script, base, idpMetadata, JSON.stringify(own)])
  let output = ""
  child.stderr.on("data", (chunk) => (output += chunk))
  const exited = new Promise<void>((done) => child.once("exit", () => done()))
  const stop = async () => {
    child.kill("SIGTERM")
    await exited
    folder.remove()
  }
  const entityId = `${base}_synapse/client/saml2/metadata.xml`
  const published = async () => {
    const response = await fetch(entityId).catch(() => undefined)
    return response?.ok ? response.text() : undefined
  }
  try {
    const what = () => `pysaml2 to start:\n${output}`
    const metadata = await until(published, { what, limitMs: 60_000 })
    return { entityId, login: `${base}login`, metadata, log: () => output, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

const program = `
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse
import saml2
from saml2.client import Saml2Client
from saml2.config import SPConfig
from saml2.metadata import create_metadata_string

base, idp_metadata, own = sys.argv[1:]
path = "_synapse/client/saml2/"
config = SPConfig().load({
    "entityid": base + path + "metadata.xml",
    "metadata": {"remote": [{"url": idp_metadata}]},
    "service": {"sp": {
        "endpoints": {"assertion_consumer_service": [
            (base + path + "authn_response", saml2.BINDING_HTTP_POST)]},
        "required_attributes": ["uid"],
        "optional_attributes": ["displayName", "email"],
        **json.loads(own),
    }},
})
client = Saml2Client(config)
outstanding = {}

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *line): pass

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items(): self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/" + path + "metadata.xml":
            self.answer(200, create_metadata_string(None, config=config), Content_Type="text/xml")
        elif self.path == "/login":
            request, info = client.prepare_for_authenticate(relay_state="unused")
            outstanding[request] = True
            self.answer(302, b"", Location=dict(info["headers"])["Location"])
        else:
            self.answer(404, b"")

    def do_POST(self):
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        try:
            read = client.parse_authn_request_response(
                form["SAMLResponse"][0], saml2.BINDING_HTTP_POST, outstanding=outstanding)
            if read.not_signed: raise Exception("SAML2 response was not signed")
            outstanding.pop(read.in_response_to, None)
            told = {
                "uid": read.ava["uid"][0], "ava": read.ava, "relay_state": form["RelayState"][0],
                "name_id": read.name_id.text, "format": read.name_id.format,
            }
        except Exception as cause:
            told = {"error": repr(cause)}
        self.answer(200, json.dumps(told).encode(), Content_Type="application/json")

ThreadingHTTPServer(("localhost", urlparse(base).port), Handler).serve_forever()
`
