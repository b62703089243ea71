// What federation costs us: `bun scripts/bench/federation.ts [TIMES]`, in a quiet minute. The time
// of the processor that a sign-in with a provider takes, from the press of the button to the code
// of the application, and a response to an application that speaks SAML; then both among 500
// applications. The peer's part is not counted, and RSA is told apart: it runs off the loop.
import { sign, verify } from "node:crypto"
import { availableParallelism, loadavg } from "node:os"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import type { Outside } from "../../src/kernel/port/outbound.ts"
import { answerOf, authorizePath } from "../../test/oauth/provider.ts"
import { authnRequest, redirectPath } from "../../test/saml/asking.ts"
import {
  askedBy,
  assertionFor,
  idpMetadata,
  responseFor,
  signedXml,
} from "../../test/saml/identity-provider.ts"
import {
  addServiceProvider,
  createKey,
  messageIn,
  openSamlProvider,
  pemOf,
} from "../../test/saml/service-provider.ts"
import { addOidc, addSaml, type Browser, newBrowser } from "../../test/saml/upstream.ts"
import { nowhere } from "../../test/support/outside.ts"
import { openUpstream, upstreamIssuer } from "../../test/support/upstream.ts"

const times = Number(process.argv[2] ?? 300)
const applications = 500
const bound = 3
const ada = {
  sub: "ada-2",
  preferred_username: "ada2",
  given_name: "Ada",
  family_name: "Lovelace",
  email: "ada2@example.com",
  email_verified: true,
}
const opened = await openSamlProvider()
// Tests have random bytes that are hashed, the same in each run: a server has the system's.
const provider: typeof opened = {
  ...opened,
  send: (path, init, more) => opened.send(path, init, { random: systemRandom, ...more }),
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
  const respond = await responder()
  // Unmeasured: the first of each kind have code to read, and to have compiled.
  for (const each of [samlSignIns, oidcSignIns, responses, samlSignIns, samlSignIns]) await each()
  await all("")
  for (let at = 0; at < applications; at++) {
    await addServiceProvider(provider, { entityId: `https://sp${at}.example.com` })
  }
  await all(` among ${applications} applications`)

  async function all(where: string): Promise<void> {
    // Of a sign-in by SAML we sign the request and check the response; by OpenID Connect we check
    // the id_token. A response to an application has two signatures, and its page none.
    tell(`a sign-in by SAML${where}`, await samlSignIns(), signing + checking)
    tell(`a sign-in by OpenID Connect${where}`, await oidcSignIns(), checking)
    tell(`a SAML response${where}`, await responses(), 2 * signing)
  }

  /** Browsers on the first page, each with the address of the button. */
  async function begun(idpId: string, outside: Outside = nowhere): Promise<readonly Begun[]> {
    return Promise.all(
      Array.from({ length: times }, async () => {
        const browser = newBrowser(provider, outside)
        const { page } = await browser.go(authorizePath(client.id))
        const hrefs = [...page.matchAll(/href="([^"]*externalidp[^"]*)"/g)]
        const href = hrefs.find(([, each = ""]) => each.includes(idpId))?.[1] ?? ""
        return { browser, href: href.replaceAll("&amp;", "&") }
      }),
    )
  }

  /** What the peer does stands between two measurements, with the garbage that it leaves. */
  async function samlSignIns(): Promise<number> {
    const browsers = await begun(saml)
    const there = await measured(browsers, ({ browser, href }) => browser.go(href))
    const now = provider.clock.now()
    const brought = there.answers.map(({ path }, at) => {
      const asked = askedBy(path)
      const xml = responseFor(asked, now, signedXml(assertionFor(asked, now), { by: key }))
      const SAMLResponse = Buffer.from(xml).toString("base64")
      const body = new URLSearchParams({ SAMLResponse, RelayState: asked.relayState })
      return { browser: browsers[at]?.browser, path: new URL(asked.acs).pathname, body }
    })
    Bun.gc(true)
    const back = await measured(brought, async ({ browser, path, body }) => {
      const answer = await provider.send(path, { method: "POST", body })
      const end = await browser?.go(answer.headers.get("location") ?? "")
      if (!end || !answerOf(end).code) throw new Error("nobody was signed in")
    })
    return there.median + back.median
  }

  async function oidcSignIns(): Promise<number> {
    let theirs = 0
    const outside: Outside = {
      ...nowhere,
      send: async (request) => {
        const from = used()
        const answer = await upstream.outside.send(request)
        theirs += used() - from
        return answer
      },
    }
    const peer = () => theirs
    const browsers = await begun(oidc, outside)
    const there = await measured(browsers, ({ browser, href }) => browser.go(href), peer)
    const ways = there.answers.map(({ path }, at) => ({
      browser: browsers[at]?.browser,
      path: upstream.signIn(path, ada),
    }))
    Bun.gc(true)
    const work = async ({ browser, path }: (typeof ways)[number]) => {
      const end = await browser?.go(path)
      if (!end || !answerOf(end).code) throw new Error("nobody was signed in")
    }
    const back = await measured(ways, work, peer)
    return there.median + back.median
  }

  async function responses(): Promise<number> {
    const paths = Array.from({ length: times }, () => redirectPath(authnRequest()))
    return (await measured(paths, respond)).median
  }

  /** A browser that somebody is signed in to, which an application asks again and again. */
  async function responder(): Promise<(path: string) => Promise<void>> {
    const browser = newBrowser(provider)
    await provider.addPerson("pat")
    await browser.signIn(redirectPath(authnRequest()), "pat")
    return async (path) => {
      const { page } = await browser.go(path)
      if (!messageIn(page).includes("status:Success")) throw new Error("there was no response")
    }
  }

  /** What the signatures themselves take, in milliseconds. */
  function rsaTimes(): readonly [signing: number, checking: number] {
    const bytes = Buffer.alloc(2000, 1)
    const signature = sign("sha256", bytes, key.privatePem)
    const timed = (work: () => unknown) => {
      const from = used()
      for (let at = 0; at < times; at++) work()
      return (used() - from) / times
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

type Begun = { readonly browser: Browser; readonly href: string }

/** The time that the processor has worked for this process, with its threads, in milliseconds. */
function used(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Does a piece of work for each, one after the other; `peer` is how long others have worked. */
async function measured<Thing, Answer>(
  things: readonly Thing[],
  work: (thing: Thing) => Promise<Answer>,
  peer: () => number = () => 0,
): Promise<{ readonly answers: readonly Answer[]; readonly median: number }> {
  const answers: Answer[] = []
  const taken: number[] = []
  for (const thing of things) {
    const from = used() - peer()
    answers.push(await work(thing))
    taken.push(used() - peer() - from)
  }
  const median = taken.sort((a, b) => a - b)[Math.floor(taken.length / 2)] ?? 0
  return { answers, median }
}

function tell(what: string, took: number, rsa: number): void {
  const beyond = took - rsa
  const verdict = beyond <= bound ? "within" : "MISSES"
  console.log(
    `${what}: ${took.toFixed(2)} ms, ${rsa.toFixed(2)} of it RSA, ${beyond.toFixed(2)} beyond; ` +
      `${verdict} ${bound} ms`,
  )
}
