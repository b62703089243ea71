import { type SamlKeys, samlKeys } from "../../domain/key/index.ts"
import { lru } from "../../kernel/lru.ts"
import type { Cx } from "../../store/index.ts"
import { bindingNames, nameIdFormats, namespaces } from "../../xml/names.ts"
import { keyInfo, signed } from "../../xml/sign.ts"
import { element, type Written, write } from "../../xml/write.ts"
import { type Self, selfOf } from "../path.ts"
import type { Endpoint } from "./endpoint.ts"

/** What others may keep without asking again. */
const keptSeconds = 3600

/** SAML Metadata §2.4.3: who we are, where we take what, and by which certificates. */
export const metadata: Endpoint = {
  methods: ["GET"],
  answer: async ({ cx }) =>
    new Response(await signedMetadata(cx), {
      headers: {
        "content-type": "application/samlmetadata+xml",
        "cache-control": `public, max-age=${keptSeconds}`,
      },
    }),
}

/** The certificate that signs, as a file. */
export const certificate: Endpoint = {
  methods: ["GET"],
  answer: async ({ cx }) =>
    new Response(pemOf((await samlKeys(cx)).certificate), {
      headers: {
        "content-type": "application/x-pem-file",
        "content-disposition": 'attachment; filename="saml-certificate.pem"',
        "cache-control": `public, max-age=${keptSeconds}`,
      },
    }),
}

const pemOf = (base64: string): string =>
  [
    "-----BEGIN CERTIFICATE-----",
    ...(base64.match(/.{1,64}/g) ?? []),
    "-----END CERTIFICATE-----",
    "",
  ].join("\n")

/** It changes with the keys and the public address alone: the signature is made once. */
async function signedMetadata(cx: Cx): Promise<string> {
  const keys = await samlKeys(cx)
  const self = selfOf(cx)
  const about = `${self.entityId} ${keys.certificate} ${keys.certificates.join(" ")}`
  const before = kept.get(about)
  if (before !== undefined) return before
  const document = write(await signed(described(self, keys), 0, keys))
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n${document}`
  kept.set(about, xml)
  return xml
}

const kept = lru<string>(100)

function described(self: Self, { certificate, certificates }: SamlKeys): Written {
  const { entityId, sso, slo } = self
  // Who takes the first one only must take the one that signs.
  const ordered = [certificate, ...certificates.filter((each) => each !== certificate)]
  const bindings = [bindingNames.redirect, bindingNames.post]
  const formats = [
    nameIdFormats.persistent,
    nameIdFormats.email,
    nameIdFormats.transient,
    nameIdFormats.unspecified,
  ]
  return element(
    "md:EntityDescriptor",
    { ID: "_metadata", entityID: entityId, cacheDuration: "PT1H" },
    element(
      "md:IDPSSODescriptor",
      { protocolSupportEnumeration: namespaces.samlp, WantAuthnRequestsSigned: "true" },
      ...ordered.map((each) => element("md:KeyDescriptor", { use: "signing" }, keyInfo(each))),
      ...bindings.map((Binding) => element("md:SingleLogoutService", { Binding, Location: slo })),
      ...formats.map((each) => element("md:NameIDFormat", {}, each)),
      ...bindings.map((Binding) => element("md:SingleSignOnService", { Binding, Location: sso })),
    ),
  )
}
