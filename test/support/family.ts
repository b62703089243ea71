// Families of refresh tokens, each from a sign-in of the owner, as an application gets them.
import { createHash } from "node:crypto"
import { owner } from "./latchkey.ts"
import { type Client, call } from "./load.ts"
import { type Page, type Send, visit } from "./visitor.ts"

const redirectUri = "https://load.example.com/callback"

/** What a public client needs to make families: who it is, and the first token of another one. */
export type Families = {
  readonly clientId: string
  /** Of the application; its tokens are for all that is in it. */
  readonly projectId: string
  readonly next: () => Promise<string>
  /** A code that nobody has redeemed yet. */
  readonly code: () => Promise<string>
  /** Redeems it; answers the status and what was said. */
  readonly redeem: (code: string) => Promise<{ readonly status: number; readonly body: any }>
  /** Signs the owner in, in a browser of their own. */
  readonly signIn: (send: Send) => Promise<SignedIn>
}

export type SignedIn = {
  /** Faults where the browser is not signed in any more. */
  readonly code: () => Promise<string>
  readonly get: (path: string) => Promise<Page>
}

/** Registers the application and signs the owner in, once: further families cost no password. */
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
    const visitor = visit(send)
    const ask = () => visitor.get(`${client.url}/oauth/v2/authorize?${query}`)
    const named = await visitor.post(await ask(), { loginName: owner.loginName })
    await visitor.post(named, { password: owner.password })
    const get = (path: string) => visitor.get(`${client.url}${path}`)
    return { code: async () => codeIn(await ask()), get }
  }
  const { code } = await signIn()
  const redeem = (given: string) => trade(client, { clientId, verifier, code: given })
  const next = async () => String((await redeem(await code())).body.refresh_token)
  return { clientId, projectId, next, code, redeem, signIn }
}

function codeIn({ url }: Page): string {
  const code = new URL(url).searchParams.get("code")
  if (code) return code
  throw new Error(`the owner came to ${url}`)
}

type Trade = { readonly clientId: string; readonly verifier: string; readonly code: string }

async function trade({ url }: Client, { clientId, verifier, code }: Trade) {
  const answer = await fetch(`${url}/oauth/v2/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }),
  })
  return { status: answer.status, body: await answer.json() }
}
