// Families of refresh tokens, each from a sign-in of the owner, as an application gets them.
import { createHash } from "node:crypto"
import { openHttpBrowser, type Page, type Send } from "./http-browser.ts"
import { owner } from "./latchkey.ts"
import { type Client, call } from "./load.ts"

const redirectUri = "https://load.example.com/callback"

/** A public client that can create families: its ID, and functions for tokens and codes. */
export type Families = {
  readonly clientId: string
  /** The application's project; its tokens have all of it as audience. */
  readonly projectId: string
  readonly next: () => Promise<string>
  /** A code that was not redeemed. */
  readonly code: () => Promise<string>
  /** Redeems a code; returns the status and the response. */
  readonly redeem: (code: string) => Promise<{ readonly status: number; readonly body: any }>
  /** Signs the owner in, with a new browser. */
  readonly signIn: (send: Send) => Promise<SignedIn>
}

export type SignedIn = {
  /** Throws if the browser is no longer signed in. */
  readonly code: () => Promise<string>
  readonly get: (path: string) => Promise<Page>
}

/**
 * Registers the application and signs the owner in once: further families need no password hash.
 */
export async function openFamilies(client: Client): Promise<Families> {
  const { orgId: organizationId } = client
  const project = await call(client, "project.CreateProject", { organizationId, name: "Families" })
  const { projectId } = project.body
  const made = await call(client, "application.CreateApplication", {
    projectId,
    name: "Families",
    oidcConfiguration: {
      redirectUris: [redirectUri],
      grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
      authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
    },
  })
  const { clientId } = made.body.oidcConfiguration
  const verifier = "a verifier that nobody has to guess, for nobody listens".replaceAll(/\W/g, "_")
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid offline_access",
    code_challenge_method: "S256",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
  })
  const signIn = async (send?: Send): Promise<SignedIn> => {
    const httpBrowser = openHttpBrowser(send)
    const ask = () => httpBrowser.get(`${client.url}/oauth/v2/authorize?${query}`)
    const named = await httpBrowser.post(await ask(), { loginName: owner.loginName })
    await httpBrowser.post(named, { password: owner.password })
    const get = (path: string) => httpBrowser.get(`${client.url}${path}`)
    return { code: async () => codeIn(await ask()), get }
  }
  const { code } = await signIn()
  const redeem = (text: string) => exchangeCode(client, { clientId, verifier, code: text })
  const next = async () => String((await redeem(await code())).body.refresh_token)
  return { clientId, projectId, next, code, redeem, signIn }
}

function codeIn({ url }: Page): string {
  const code = new URL(url).searchParams.get("code")
  if (code) return code
  throw new Error(`the owner came to ${url}`)
}

type CodeExchange = { readonly clientId: string; readonly verifier: string; readonly code: string }

async function exchangeCode({ url }: Client, { clientId, verifier, code }: CodeExchange) {
  const response = await fetch(`${url}/oauth/v2/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }),
  })
  return { status: response.status, body: await response.json() }
}
