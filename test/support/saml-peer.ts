// A SAML identity provider on this machine, for browsers.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import {
  type AssertionOptions,
  createAssertion,
  createLogoutMessage,
  createResponse,
  idpMetadata,
  parseRedirect,
  signXml,
} from "../saml/identity-provider.ts"
import { createKey } from "../saml/service-provider.ts"

export type SamlPeer = {
  readonly metadataUrl: string
  /** Sets the next user. */
  readonly setUser: (values: AssertionOptions) => void
  readonly stop: () => Promise<void>
}

/** Starts one that signs users in without interaction. */
export async function startSamlPeer(): Promise<SamlPeer> {
  const key = await createKey()
  let values: AssertionOptions = {}
  const server = createServer((request, response) => {
    const url = `http://localhost${request.url ?? "/"}`
    const { pathname } = new URL(url)
    response.setHeader("content-type", "text/html")
    if (pathname === "/metadata") return response.end(metadata)
    const { asked, fields } = pathname === "/slo" ? loggedOut(url) : signedIn(url)
    return response.end(formPage(asked.acs, { ...fields, RelayState: asked.relayState }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const services =
    '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"' +
    ` Location="${origin}/slo"></md:SingleLogoutService>`
  const metadata = idpMetadata([key], { services }).replaceAll(
    'Location="https://idp.example.com/saml/sso"',
    `Location="${origin}/sso"`,
  )

  function signedIn(url: string) {
    const asked = parseRedirect(url)
    const now = Date.now()
    const xml = createResponse(
      asked,
      now,
      signXml(createAssertion(asked, now, values), { by: key }),
    )
    return { asked, fields: { SAMLResponse: base64(xml) } }
  }

  function loggedOut(url: string) {
    const { id: InResponseTo, issuer, ...rest } = parseRedirect(url)
    const acs = issuer.replace(/metadata$/, "slo")
    const inside =
      '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success">' +
      "</samlp:StatusCode></samlp:Status>"
    const attributes = { Destination: acs, InResponseTo }
    const plain = createLogoutMessage("LogoutResponse", { attributes, inside, now: Date.now() })
    const xml = signXml(plain, { by: key, of: "LogoutResponse" })
    return { asked: { ...rest, acs }, fields: { SAMLResponse: base64(xml) } }
  }

  return {
    metadataUrl: `${origin}/metadata`,
    setUser: (next) => {
      values = next
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

const base64 = (xml: string): string => Buffer.from(xml).toString("base64")

const formPage = (action: string, fields: Readonly<Record<string, string>>): string =>
  `<form method="post" action="${action}">${Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
    .join("")}</form><script>document.forms[0].submit()</script>`
