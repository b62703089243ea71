import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { freePort } from "./latchkey.ts"

type Claims = Readonly<Record<string, unknown>>

/** By path: changed fields, no response at all, or fifty megabytes. */
export type PeerLies = Readonly<Record<string, Claims | "silent" | "huge" | true>>

export type OidcPeer = {
  readonly issuer: string
  /** Sets the next user, the false data, and whether the key is replaced. */
  readonly set: (settings: {
    readonly person?: Claims
    readonly lie?: PeerLies
    readonly rotate?: boolean
    /** Ages every session at the provider. */
    readonly ageSeconds?: number
  }) => Promise<void>
  /**
   * Follows a browser's redirect to the provider; returns the callback URL. With a browser's
   * cookies it continues their session.
   */
  readonly signIn: (authUrl: string, cookies?: Map<string, string>) => Promise<string>
  readonly stop: () => Promise<void>
}

/**
 * npm's oidc-provider in its own process, with two clients: "client" sends "s3cret" in a header,
 * "client-post" in the body.
 */
export async function startOidcPeer(redirectUris: readonly string[]): Promise<OidcPeer> {
  const port = await freePort()
  const program = join(import.meta.dirname, "oidc-peer.mjs")
  const child = spawn("node", [program, String(port), redirectUris.join(" ")])
  let said = ""
  child.stderr.on("data", (chunk) => (said += chunk))
  const exited = once(child, "exit")
  await Promise.race([once(child.stdout, "data"), exited])
  if (child.exitCode !== null) throw new Error(`oidc-provider did not start: ${said}`)
  const issuer = `http://localhost:${port}`
  const origins = redirectUris.map((uri) => new URL(uri).origin)
  return {
    issuer,
    set: async (settings) => {
      await fetch(`${issuer}/lie`, { method: "POST", body: JSON.stringify(settings) })
    },
    signIn: async (authUrl, cookies = new Map<string, string>()) => {
      let at = authUrl
      for (let steps = 0; steps < 10; steps++) {
        const cookie = [...cookies].map((pair) => pair.join("=")).join("; ")
        const response = await fetch(at, { redirect: "manual", headers: { cookie } })
        for (const line of response.headers.getSetCookie()) {
          const [pair = ""] = line.split(";")
          cookies.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1))
        }
        const location = response.headers.get("location")
        if (location === null) throw new Error(`${at}: ${await response.text()}`)
        at = new URL(location, at).href
        if (origins.includes(new URL(at).origin)) return at
      }
      throw new Error("it sends the browser round in circles")
    },
    stop: async () => {
      child.kill("SIGTERM")
      await exited
    },
  }
}
