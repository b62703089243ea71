// Refresh tokens change with every use. A server that is killed meanwhile loses none.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openHttpBrowser, parseForm } from "../support/http-browser.ts"
import { owner, temporaryFolder } from "../support/latchkey.ts"
import { call } from "../support/load.ts"
import { pause, until } from "../support/wait.ts"
import { openServerFolder } from "./server-folder.ts"

const rounds = 12
const redirectUri = "https://app.example.com/callback"
const verifier = "a-verifier-that-is-long-enough-for-everybody-to-like"

/**
 * The tokens of one grant, oldest first; the last one is unused, or was used without a response.
 */
type TokenChain = { readonly tokens: string[]; unanswered: number }

describe(`refreshed at ${rounds} kills (R-01)`, () => {
  const folder = temporaryFolder()
  const complaints: string[] = []
  const chains: TokenChain[] = []
  let refresh: (token: string) => Promise<{ status: number; body: any }>
  let stop: (() => Promise<void>) | undefined

  beforeAll(async () => {
    const house = await openServerFolder(folder.path)
    let server = await house.start()
    const { url } = server
    const client = await house.client()
    const projectId = await createResource(client, "project.CreateProject", "projectId", {
      organizationId: client.orgId,
      name: "Shop",
    })
    const { body } = await call(client, "application.CreateApplication", {
      projectId,
      name: "Web",
      oidcConfiguration: {
        redirectUris: [redirectUri],
        grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
      },
    })
    const { clientId, clientSecret } = body.oidcConfiguration
    const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`
    const token = async (parameters: Record<string, string>) => {
      const answer = await fetch(`${url}/oauth/v2/token`, {
        method: "POST",
        headers: { authorization },
        body: new URLSearchParams(parameters),
      })
      return { status: answer.status, body: JSON.parse(await answer.text()) }
    }
    refresh = (last) => token({ grant_type: "refresh_token", refresh_token: last })
    for (let count = 0; count < 8; count++) {
      const code = await signIn(url, clientId)
      const parameters = { code, redirect_uri: redirectUri, code_verifier: verifier }
      const first = await token({ grant_type: "authorization_code", ...parameters })
      chains.push({ tokens: [first.body.refresh_token], unanswered: 0 })
    }
    for (let round = 0; round < rounds; round++) {
      const working = chains.map((chain) => rotateTokens(chain, refresh, complaints))
      const each = round + 2
      await until(() => chains.every(({ tokens }) => tokens.length >= each), {
        what: "a new token in each chain",
        limitMs: 30_000,
      })
      await pause(Math.random() * 450, "the kill must come at any moment, which is what is tested")
      await server.stop("SIGKILL")
      await Promise.all(working)
      server = await house.start()
    }
    stop = async () => void (await server.stop())
  })
  afterAll(async () => {
    await stop?.()
    folder.remove()
  })

  test("they were used all the time, and some uses were interrupted", () => {
    expect(Math.min(...chains.map(({ tokens }) => tokens.length))).toBeGreaterThan(rounds)
    expect(chains.reduce((sum, { unanswered }) => sum + unanswered, 0)).toBeGreaterThan(rounds)
    expect(complaints).toEqual([])
  })

  test("the newest one is valid after the last kill", async () => {
    for (const chain of chains) {
      const { status, body } = await refresh(chain.tokens.at(-1) ?? "")
      expect(status, JSON.stringify(body)).toBe(200)
      chain.tokens.push(body.refresh_token)
    }
  })

  test("a replaced one is rejected, and ends its whole family", async () => {
    for (const [at, { tokens }] of chains.entries()) {
      const old = tokens[at === 0 ? 0 : tokens.length - 4] ?? ""
      for (const each of [old, tokens.at(-1) ?? ""]) {
        const { status, body } = await refresh(each)
        expect([status, body.error]).toEqual([400, "invalid_grant"])
      }
    }
  })
})

/** Uses a token and then its successor, until the server stops responding. */
async function rotateTokens(
  chain: TokenChain,
  refresh: (token: string) => Promise<{ status: number; body: any }>,
  complaints: string[],
): Promise<void> {
  for (;;) {
    const answer = await refresh(chain.tokens.at(-1) ?? "").catch(() => undefined)
    if (answer === undefined) {
      chain.unanswered++
      return
    }
    if (answer.status !== 200) {
      complaints.push(`${answer.status} ${JSON.stringify(answer.body)}`)
      return
    }
    chain.tokens.push(answer.body.refresh_token)
  }
}

async function createResource(
  client: Parameters<typeof call>[0],
  name: string,
  field: string,
  request: object,
): Promise<string> {
  const { status, body } = await call(client, name, request)
  if (status !== 200) throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`)
  return body[field]
}

/** Signs the owner in with a new browser; returns the code. */
async function signIn(url: string, clientId: string): Promise<string> {
  const challenge = new Bun.CryptoHasher("sha256").update(verifier).digest("base64url")
  const parameters = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid offline_access",
    code_challenge: challenge,
    code_challenge_method: "S256",
  })
  const browser = openHttpBrowser()
  const named = await browser.get(`${url}/oauth/v2/authorize?${parameters}`)
  const asked = await browser.post(named, { loginName: owner.loginName })
  const entered = await browser.post(asked, { password: owner.password })
  const end = entered.url.startsWith(redirectUri)
    ? entered
    : await browser.post(entered, { answer: "allow" })
  const code = new URL(end.url).searchParams.get("code")
  if (code) return code
  throw new Error(`the sign-in ended at ${end.url} with ${JSON.stringify(parseForm(end))}`)
}
