// What SAML costs us: `bun scripts/bench/federation.ts [TIMES]`. The time of the processor that a
// sign-in with a provider takes, from the press of the button on, and a response to an application;
// then the same response among 500 applications. The peer's part is not counted.
import { sign, verify } from "node:crypto"
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
import { addSaml, bring, newBrowser } from "../../test/saml/upstream.ts"

const times = Number(process.argv[2] ?? 200)
const applications = 500
const provider = await openSamlProvider()
try {
  const key = await createKey()
  const client = await provider.addClient()
  await addServiceProvider(provider)
  await addSaml(provider, idpMetadata([key]))
  const [signing, checking] = rsaTimes()
  const entered = await median(signIn)
  const responding = await responder()
  const alone = await median(responding)
  for (let at = 0; at < applications; at++) {
    await addServiceProvider(provider, { entityId: `https://sp${at}.example.com` })
  }
  const among = await median(responding)
  // Our request and the code are one signature each; a SAML response is two, and the page none.
  tell("a sign-in with a provider", entered, signing + checking)
  tell("a SAML response", alone, 2 * signing)
  tell(`the same among ${applications} applications`, among, 2 * signing)

  /** From the press of the button to the code of the application, but for the provider's part. */
  async function signIn(): Promise<number> {
    const browser = newBrowser(provider)
    const { page } = await browser.go(authorizePath(client.id))
    const href = /href="([^"]*externalidp[^"]*)"/.exec(page)?.[1]?.replaceAll("&amp;", "&") ?? ""
    let begun = used()
    const asked = askedBy((await browser.go(href)).path)
    const there = used() - begun
    const now = provider.clock.now()
    const xml = responseFor(asked, now, signedXml(assertionFor(asked, now), { by: key }))
    begun = used()
    const end = await bring(provider, browser, { xml, asked })
    const back = used() - begun
    if (!answerOf(end).code) throw new Error("nobody was signed in")
    return there + back
  }

  /** A browser that somebody is signed in to, which an application asks again and again. */
  async function responder(): Promise<() => Promise<number>> {
    const browser = newBrowser(provider)
    await provider.addPerson("pat")
    await browser.signIn(redirectPath(authnRequest()), "pat")
    return async () => {
      const path = redirectPath(authnRequest())
      const begun = used()
      const { page } = await browser.go(path)
      const took = used() - begun
      if (!messageIn(page).includes("status:Success")) throw new Error("there was no response")
      return took
    }
  }

  /** What the signatures themselves take, in milliseconds. */
  function rsaTimes(): readonly [signing: number, checking: number] {
    const bytes = Buffer.alloc(2000, 1)
    const signature = sign("sha256", bytes, key.privatePem)
    const timed = (work: () => unknown) => {
      const begun = used()
      for (let at = 0; at < times; at++) work()
      return (used() - begun) / times
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

/** The time that the processor has worked for this process, with its threads, in milliseconds. */
function used(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

async function median(work: () => Promise<number>): Promise<number> {
  const taken: number[] = []
  for (let count = 0; count < times; count++) taken.push(await work())
  return taken.sort((a, b) => a - b)[Math.floor(times / 2)] ?? 0
}

function tell(what: string, took: number, rsa: number): void {
  const beyond = took - rsa
  console.log(`${what}: ${took.toFixed(2)} ms, ${beyond.toFixed(2)} ms beyond RSA (≤ 3 ms)`)
}
