// Measures the cost of federation: `bun scripts/bench/federation.ts [TIMES]`, on an idle machine.
// Prints the CPU time of a sign-in through a provider, from the click on its button to the
// authorization code, and of a SAML response to an application, each alone and with 500
// applications. The work of the peer is excluded. RSA is reported separately, because it runs
// outside the event loop.
import { sign, verify } from "node:crypto"
import { availableParallelism, loadavg } from "node:os"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import type { Outside } from "../../src/kernel/port/outbound.ts"
import { authorizePath, responseOf } from "../../test/oauth/provider.ts"
import {
  createAssertion,
  createResponse,
  idpMetadata,
  parseRedirect,
  signXml,
} from "../../test/saml/identity-provider.ts"
import { authnRequest, redirectPath } from "../../test/saml/requests.ts"
import {
  addServiceProvider,
  createKey,
  messageIn,
  openSamlProvider,
  pemOf,
} from "../../test/saml/service-provider.ts"
import { addOidc, addSaml, type Browser, newBrowser } from "../../test/saml/upstream.ts"
import { unreachableOutside } from "../../test/support/outside.ts"
import { openUpstream, upstreamIssuer } from "../../test/support/upstream.ts"

const repetitions = Number(process.argv[2] ?? 300)
const applications = 500
const limitMs = 3
const ada = {
  sub: "ada-2",
  preferred_username: "ada2",
  given_name: "Ada",
  family_name: "Lovelace",
  email: "ada2@example.com",
  email_verified: true,
}
const testProvider = await openSamlProvider()
// Tests use deterministic random bytes; a server uses the system's, which cost less.
const provider: typeof testProvider = {
  ...testProvider,
  send: (path, init, more) => testProvider.send(path, init, { random: systemRandom, ...more }),
}
try {
  console.log(`load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`)
  const key = await createKey()
  const client = await provider.addClient()
  await addServiceProvider(provider)
  const saml = await addSaml(provider, idpMetadata([key]))
  const oidc = await addOidc(provider, upstreamIssuer)
  const upstream = await openUpstream()
  const [signing, checking] = rsaTimes()
  const sendResponse = await createResponder()
  // Warm up: the first runs also load and compile code.
  for (const each of [samlSignIns, oidcSignIns, responses, samlSignIns, samlSignIns]) await each()
  await measureAll("")
  for (let at = 0; at < applications; at++) {
    await addServiceProvider(provider, { entityId: `https://sp${at}.example.com` })
  }
  await measureAll(` among ${applications} applications`)

  async function measureAll(suffix: string): Promise<void> {
    // In a SAML sign-in, Latchkey signs the request and verifies the response; in OpenID Connect,
    // it verifies the ID token. A SAML response to an application has two signatures.
    printResult(`SAML sign-in${suffix}`, await samlSignIns(), signing + checking)
    printResult(`OpenID Connect sign-in${suffix}`, await oidcSignIns(), checking)
    printResult(`SAML response${suffix}`, await responses(), 2 * signing)
  }

  /** Opens the sign-in page in new browsers; returns each with the URL of the provider's button. */
  async function startSignIns(
    idpId: string,
    outside: Outside = unreachableOutside,
  ): Promise<readonly StartedSignIn[]> {
    return Promise.all(
      Array.from({ length: repetitions }, async () => {
        const browser = newBrowser(provider, outside)
        const { page } = await browser.go(authorizePath(client.id))
        const hrefs = [...page.matchAll(/href="([^"]*externalidp[^"]*)"/g)]
        const href = hrefs.find(([, each = ""]) => each.includes(idpId))?.[1] ?? ""
        return { browser, href: href.replaceAll("&amp;", "&") }
      }),
    )
  }

  /** The work of the peer runs between the two measurements, including garbage collection. */
  async function samlSignIns(): Promise<number> {
    const browsers = await startSignIns(saml)
    const outbound = await measureEach(browsers, ({ browser, href }) => browser.go(href))
    const now = provider.clock.now()
    const responsePosts = outbound.answers.map(({ path }, at) => {
      const samlRequest = parseRedirect(path)
      const xml = createResponse(
        samlRequest,
        now,
        signXml(createAssertion(samlRequest, now), { by: key }),
      )
      const SAMLResponse = Buffer.from(xml).toString("base64")
      const body = new URLSearchParams({ SAMLResponse, RelayState: samlRequest.relayState })
      return { browser: browsers[at]?.browser, path: new URL(samlRequest.acs).pathname, body }
    })
    Bun.gc(true)
    const inbound = await measureEach(responsePosts, async ({ browser, path, body }) => {
      const answer = await provider.send(path, { method: "POST", body })
      const end = await browser?.go(answer.headers.get("location") ?? "")
      if (!end || !responseOf(end).code) throw new Error("sign-in failed")
    })
    return outbound.median + inbound.median
  }

  async function oidcSignIns(): Promise<number> {
    let peerMs = 0
    const outside: Outside = {
      ...unreachableOutside,
      send: async (request) => {
        const from = cpuMs()
        const answer = await upstream.outside.send(request)
        peerMs += cpuMs() - from
        return answer
      },
    }
    const peer = () => peerMs
    const browsers = await startSignIns(oidc, outside)
    const outbound = await measureEach(browsers, ({ browser, href }) => browser.go(href), peer)
    const callbacks = outbound.answers.map(({ path }, at) => ({
      browser: browsers[at]?.browser,
      path: upstream.signIn(path, ada),
    }))
    Bun.gc(true)
    const work = async ({ browser, path }: (typeof callbacks)[number]) => {
      const end = await browser?.go(path)
      if (!end || !responseOf(end).code) throw new Error("sign-in failed")
    }
    const inbound = await measureEach(callbacks, work, peer)
    return outbound.median + inbound.median
  }

  async function responses(): Promise<number> {
    const paths = Array.from({ length: repetitions }, () => redirectPath(authnRequest()))
    return (await measureEach(paths, sendResponse)).median
  }

  /** Returns a function that requests a SAML response in a browser with a session. */
  async function createResponder(): Promise<(path: string) => Promise<void>> {
    const browser = newBrowser(provider)
    await provider.addPerson("pat")
    await browser.signIn(redirectPath(authnRequest()), "pat")
    return async (path) => {
      const { page } = await browser.go(path)
      if (!messageIn(page).includes("status:Success")) throw new Error("no SAML response")
    }
  }

  /** CPU milliseconds of one RSA signature and of one verification. */
  function rsaTimes(): readonly [signing: number, checking: number] {
    const bytes = Buffer.alloc(2000, 1)
    const signature = sign("sha256", bytes, key.privatePem)
    const timed = (work: () => unknown) => {
      const from = cpuMs()
      for (let at = 0; at < repetitions; at++) work()
      return (cpuMs() - from) / repetitions
    }
    const certificate = pemOf(key.certificate)
    return [
      timed(() => sign("sha256", bytes, key.privatePem)),
      timed(() => verify("sha256", bytes, certificate, signature)),
    ]
  }
} finally {
  await provider.close()
}

type StartedSignIn = { readonly browser: Browser; readonly href: string }

/** CPU milliseconds of this process with all its threads. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Processes the items one after the other; `peer` returns the milliseconds to subtract. */
async function measureEach<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  peer: () => number = () => 0,
): Promise<{ readonly answers: readonly Result[]; readonly median: number }> {
  const answers: Result[] = []
  const taken: number[] = []
  for (const item of items) {
    const from = cpuMs() - peer()
    answers.push(await work(item))
    taken.push(cpuMs() - peer() - from)
  }
  const median = taken.sort((a, b) => a - b)[Math.floor(taken.length / 2)] ?? 0
  return { answers, median }
}

function printResult(label: string, took: number, rsa: number): void {
  const withoutRsa = took - rsa
  const verdict = withoutRsa <= limitMs ? "within" : "MISSES"
  console.log(
    `${label}: ${took.toFixed(2)} ms, ${rsa.toFixed(2)} of it RSA, ${withoutRsa.toFixed(2)} ` +
      `without; ${verdict} ${limitMs} ms`,
  )
}
