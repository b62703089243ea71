import { createPublicKey } from "node:crypto"
import { deflateRawSync, inflateRawSync } from "node:zlib"
import type { RegisteredServiceProvider } from "../../../src/domain/app/index.ts"
import { parseMetadata } from "../../../src/domain/app/saml/metadata.ts"
import { parseSubject, validateResponse } from "../../../src/domain/idp/saml/assertion.ts"
import { metadataReading, parseProvider } from "../../../src/domain/idp/saml/provider.ts"
import { authenticateResponse } from "../../../src/domain/idp/saml/response.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { checkRequest } from "../../../src/saml/request/authn-request.ts"
import { verifySignature } from "../../../src/saml/request/receive.ts"
import type { Cx } from "../../../src/store/index.ts"
import { createPostFields, parsePost, parseRedirect } from "../../../src/xml/binding.ts"
import { canonicalize } from "../../../src/xml/canonical.ts"
import { encryptElement } from "../../../src/xml/encrypt.ts"
import { decodeMetadata, isWebUrl } from "../../../src/xml/metadata.ts"
import { bindingNames, nameIdFormats, namespaces } from "../../../src/xml/names.ts"
import { type MessageReading, readMessage } from "../../../src/xml/read.ts"
import { signElement } from "../../../src/xml/sign.ts"
import { element, serialize, type XmlNode } from "../../../src/xml/write.ts"
import { issuer, openProvider, type Provider } from "../../oauth/provider.ts"
import { publicPem, rsaKey } from "../engine/keys.ts"
import type { Mutation } from "../engine/mutation.ts"
import { certificateOf, xmlSigner } from "../engine/saml.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

const reading: MessageReading = {
  name: "the message",
  refusedError: (message) => new Fault("invalid_argument", "saml.refused", message),
}
const refusedError = reading.refusedError

const tokens = [
  "saml:Issuer",
  "saml:Assertion",
  "saml:Subject",
  "samlp:Response",
  "samlp:AuthnRequest",
  "ds:Signature",
  "ds:SignedInfo",
  "ds:Reference",
  "ds:Object",
  "ds:Transform",
  "URI",
  "ID",
  "xmlns",
  "xmlns:x",
  "xml:id",
  "Id",
  "AssertionID",
  "#_a",
  "_a",
  "_r",
  "true",
  "2.0",
  "exact",
  "minimum",
  "better",
  "toString",
  "__proto__",
  "constructor",
  "Comparison",
  "Format",
  "index",
  ...Object.values(namespaces),
  ...Object.values(bindingNames),
  "InclusiveNamespaces",
  "PrefixList",
  "Algorithm",
  "2026-01-02T00:00:00Z",
  "NotOnOrAfter",
]

const key = rsaKey()
const pem = publicPem(key)

const now = Date.UTC(2026, 0, 2)
const [at, end] = [now, now + 60_000].map((ms) => new Date(ms).toISOString())

/** XML messages: parsed strictly and within limits. */
export const xmlMessage = fuzzTarget({
  name: "xml-message",
  seeds: () => [
    '<?xml version="1.0"?><a xmlns="urn:a" ID="_a"><b:c xmlns:b="urn:b" b:d="&lt;">e</b:c></a>',
    '<a xmlns:p="urn:1"><p:b><p:b xmlns:p="urn:2"/></p:b>&#13;\r\n&amp;</a>',
    '<a z="1" b="2"><c ID="_c" xml:lang="en"/><d xmlns=""/>\u0085\u2028</a>',
  ],
  tokens,
  parse: async (input) => {
    const root = await readMessage(input.toString(), reading)
    return { name: root.localName, text: canonicalize(root) }
  },
  check: async ({ text }) => {
    // XML Signature 1.1 §8.3: the signed content must equal the content that is read.
    if (!text.isWellFormed()) return
    const again = await readMessage(text, { ...reading, size: { maxLength: 1e6, bounds: [] } })
    requireEqual(canonicalize(again), text, "the canonical form is read as the same element")
  },
})

const subject = element(
  "saml:Subject",
  {},
  element("saml:NameID", { Format: nameIdFormats.email }, "ada@example.com"),
  element(
    "saml:SubjectConfirmation",
    { Method: "urn:oasis:names:tc:SAML:2.0:cm:bearer" },
    element("saml:SubjectConfirmationData", {
      NotOnOrAfter: end,
      Recipient: "https://id.example.com/acs",
      InResponseTo: "_q",
    }),
  ),
)

const assertion = element(
  "saml:Assertion",
  { ID: "_a", Version: "2.0", IssueInstant: at },
  element("saml:Issuer", {}, "https://idp.example.com"),
  subject,
  element(
    "saml:Conditions",
    { NotBefore: at, NotOnOrAfter: end },
    element("saml:AudienceRestriction", {}, element("saml:Audience", {}, "https://id.example.com")),
  ),
  element("saml:AuthnStatement", { AuthnInstant: at, SessionIndex: "1" }),
  element(
    "saml:AttributeStatement",
    {},
    element("saml:Attribute", { Name: "groups" }, element("saml:AttributeValue", {}, "staff")),
  ),
)

const responseWith = (inside: XmlNode) =>
  element(
    "samlp:Response",
    {
      ID: "_r",
      Version: "2.0",
      IssueInstant: at,
      InResponseTo: "_q",
      Destination: "https://id.example.com/acs",
    },
    element("saml:Issuer", {}, "https://idp.example.com"),
    element(
      "samlp:Status",
      {},
      element("samlp:StatusCode", { Value: "urn:oasis:names:tc:SAML:2.0:status:Success" }),
    ),
    inside,
  )

const expected = {
  entityId: "https://idp.example.com",
  audience: "https://id.example.com",
  now,
  acs: "https://id.example.com/acs",
  requestId: "_q",
}

const der = (): Uint8Array<ArrayBuffer> =>
  new Uint8Array(key.export({ format: "der", type: "pkcs8" }))

/** Responses of identity providers: signatures, encryption, and accepted claims. */
export const samlResponse = fuzzTarget({
  name: "saml-response",
  seeds: async () => {
    const signer = xmlSigner(key, "AAAA")
    const inner = await signElement(assertion, 1, signer)
    const sealed = await encryptElement(inner, {
      certificate: await certificateOf(key),
      methods: [],
    })
    return [
      serialize(responseWith(inner)),
      serialize(await signElement(responseWith(assertion), 1, signer)),
      serialize(responseWith(assertion)),
      serialize(responseWith(element("saml:EncryptedAssertion", {}, sealed))),
    ]
  },
  tokens,
  parse: async (input) => {
    const opened = await authenticateResponse(input.toString(), {
      keys: [pem],
      decryptionKeys: () => [der()],
    })
    if (!opened) throw new Error("no key of the provider has signed it")
    const { response, assertion: found, isSigned } = opened
    validateResponse(response, { expected, isSigned, reading })
    return parseSubject(found, { expected, reading })
  },
  // The product rejects all of these alike and logs the reason; a TypeError is still a bug.
  isRejection: (error) =>
    error instanceof Fault || (error instanceof Error && error.constructor === Error),
  check: ({ nameId, sessionIndex, attributes }) => {
    requireEqual(nameId.value, "ada@example.com", "the signed name is believed, and no other")
    requireEqual(nameId.format, nameIdFormats.email, "and its format")
    requireEqual(sessionIndex, "1", "and the session")
    requireEqual(attributes, { groups: ["staff"] }, "and the attributes")
  },
})

const acs = "https://sp.example.com/acs"
const found = {
  appId: "1",
  state: { saml: {} },
  provider: {
    entityId: "https://sp.example.com",
    consumers: [
      { url: acs, binding: "post", index: 0 },
      { url: `${acs}2`, binding: "redirect", index: 1 },
    ],
    logout: [],
    signingKeys: [pem],
    signsRequests: false,
    nameIdFormats: ["email"],
    validUntil: undefined,
  },
} as unknown as RegisteredServiceProvider

const authnRequest = (attributes: Readonly<Record<string, string>>, ...more: XmlNode[]) =>
  element(
    "samlp:AuthnRequest",
    {
      ID: "_a",
      Version: "2.0",
      IssueInstant: at,
      ...attributes,
      Destination: `${issuer}/saml/v2/SSO`,
    },
    element("saml:Issuer", {}, "https://sp.example.com"),
    ...more,
  )

const context = (Comparison: string, name: string) =>
  element(
    "samlp:RequestedAuthnContext",
    { Comparison },
    element("saml:AuthnContextClassRef", {}, `urn:oasis:names:tc:SAML:2.0:ac:classes:${name}`),
  )

type Opened = { readonly cx: Cx; readonly provider: Provider }

/** Requests of service providers. */
export const samlRequest = fuzzTarget<ReturnType<typeof checkRequest>, Opened>({
  name: "saml-request",
  open: async () => {
    const provider = await openProvider()
    return { provider, cx: provider.cx() }
  },
  close: ({ provider }) => provider.close(),
  seeds: async () => {
    const policy = element("samlp:NameIDPolicy", { Format: nameIdFormats.persistent })
    const plain = authnRequest({ ForceAuthn: "true", AssertionConsumerServiceURL: acs }, policy)
    const indexed = authnRequest(
      { AssertionConsumerServiceIndex: "1", IsPassive: "1" },
      context("minimum", "Password"),
    )
    return [
      serialize(plain),
      serialize(indexed),
      serialize(
        authnRequest({ ProtocolBinding: bindingNames.post }, context("better", "unspecified")),
      ),
      serialize(await signElement(plain, 1, xmlSigner(key, "AAAA"))),
    ]
  },
  tokens,
  parse: async (input, { cx }) => {
    const xml = input.toString()
    const root = await readMessage(xml, reading)
    const received = { kind: "SAMLRequest", xml, relayState: "" } as const
    const sender = { cx, keys: [pem], entityId: found.provider.entityId }
    const opened = await verifySignature(received, root, sender)
    return checkRequest(cx, { found, ...opened }, "")
  },
  check: (checked) => {
    const to =
      "authorizationRequest" in checked
        ? checked.authorizationRequest.redirectUri
        : checked.error.back.url
    requireProperty([acs, `${acs}2`].includes(to), "answers go only to an address of the metadata")
    if (!("authorizationRequest" in checked)) return
    const { saml, prompts } = checked.authorizationRequest
    requireProperty(saml?.entityId === found.provider.entityId, "the request is of its sender")
    requireProperty(
      prompts.every((prompt) => prompt === "login" || prompt === "none"),
      "prompts are known",
    )
  },
})

const inflate = (text: string): Buffer | undefined => {
  try {
    return inflateRawSync(Buffer.from(decodeURIComponent(text), "base64"), {
      maxOutputLength: 65_536,
    })
  } catch {
    return undefined
  }
}

/** Mutates the message in a URL or its decompressed content. */
const mutateDeflated: Mutation = (input, { random, other }) => {
  const text = input.toString("latin1")
  const [whole, message] = /SAMLRe\w+=([^&]*)/.exec(text) ?? []
  const plain = message === undefined ? undefined : inflate(message)
  if (!whole || message === undefined || !plain) return undefined
  const cut = random.below(plain.length + 1)
  const bomb = Buffer.alloc(2 ** random.below(20), "a")
  const changed = Buffer.concat([
    plain.subarray(0, cut),
    random.pick([other, bomb, Buffer.alloc(0)]),
  ])
  const packed = encodeURIComponent(deflateRawSync(changed).toString("base64"))
  return Buffer.from(
    text.replace(message, () => packed),
    "latin1",
  )
}

const deflateXml = (xml: string) => encodeURIComponent(deflateRawSync(xml).toString("base64"))

/** SAML Bindings §3.4 and §3.5: a query string, or a form after "form:". */
export const samlBinding = fuzzTarget({
  name: "saml-binding",
  seeds: () => [
    `?SAMLRequest=${deflateXml("<a/>")}&RelayState=a%2Bb`,
    `?SAMLResponse=${deflateXml("<a>\u00e4</a>")}&SigAlg=http%3A%2F%2Fa&Signature=AAAA`,
    `form:SAMLResponse=${encodeURIComponent(Buffer.from("<a/>").toString("base64"))}&RelayState=b`,
    "?SAMLRequest=AA%0AAA&SAMLEncoding=urn%3Aa",
    "?a=b",
  ],
  tokens: [
    "SAMLRequest=",
    "SAMLResponse=",
    "RelayState=",
    "&",
    "Signature=",
    "SigAlg=",
    "%0a",
    "=",
  ],
  mutations: [mutateDeflated],
  parse: (input) => {
    const text = input.toString("latin1")
    if (!text.startsWith("form:")) return parseRedirect(text, refusedError)
    return parsePost(new URLSearchParams(text.slice(5)), refusedError)
  },
  check: (received) => {
    if (!received) return
    requireProperty(received.xml.length <= 65_536 * 2, "a message has a bounded length")
    requireProperty(received.xml.isWellFormed(), "a message is text")
    const { kind, xml, relayState } = received
    const again = parsePost(
      new URLSearchParams(createPostFields({ kind, xml, relayState })),
      refusedError,
    )
    // A leading byte order mark is not part of the text (Encoding Standard §6.1).
    requireEqual(
      again,
      { kind, xml: xml.replace(/^\uFEFF/, ""), relayState },
      "written and read again",
    )
  },
})

const descriptor = (use: string, certificate: string) =>
  `<md:KeyDescriptor use="${use}"><ds:KeyInfo xmlns:ds="${namespaces.ds}"><ds:X509Data>` +
  `<ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>` +
  "</md:KeyDescriptor>"

const entity = (role: string, inside: string) =>
  `<md:EntityDescriptor xmlns:md="${namespaces.md}" entityID="https://a.example.com" ` +
  `validUntil="2030-01-01T00:00:00Z"><md:${role} protocolSupportEnumeration="a ` +
  `${namespaces.samlp}">${inside}</md:${role}></md:EntityDescriptor>`

const service = (name: string, binding: string, more = "") =>
  `<md:${name} Binding="${binding}" Location="https://a.example.com/x"${more}/>`

/** Metadata of identity providers and service providers. */
export const samlMetadata = fuzzTarget({
  name: "saml-metadata",
  seeds: async () => {
    const certificate = await certificateOf(key)
    const keys = descriptor("signing", certificate) + descriptor("encryption", certificate)
    const logout = service("SingleLogoutService", bindingNames.post, ' ResponseLocation="a"')
    return [
      entity(
        "IDPSSODescriptor",
        keys + logout + service("SingleSignOnService", bindingNames.redirect),
      ),
      entity(
        "SPSSODescriptor",
        `${keys}<md:NameIDFormat>${nameIdFormats.email}</md:NameIDFormat>${logout}` +
          service("AssertionConsumerService", bindingNames.post, ' index="0" isDefault="true"'),
      ),
    ]
  },
  tokens: [
    ...tokens,
    "md:IDPSSODescriptor",
    "md:SPSSODescriptor",
    "md:KeyDescriptor",
    "Location",
    "Binding",
    "javascript:alert(1)",
    "http://a/#b",
    "validUntil",
    "isDefault",
    "entityID",
    "use",
  ],
  parse: async (input) => {
    const text = decodeMetadata(new Uint8Array(input), metadataReading)
    if (text.includes("IDPSSODescriptor")) return { provider: await parseProvider(text) }
    return { application: await parseMetadata(new Uint8Array(input), now) }
  },
  check: ({ provider, application }) => {
    const entityId = provider?.entityId ?? application?.entityId ?? ""
    requireProperty(
      entityId !== "" && entityId.length <= 1024 && !/\s/.test(entityId),
      "there is an entity id",
    )
    if (!provider) return
    const { signOn, logout, signingKeys } = provider
    const urls = [...signOn, ...logout].map(({ url }) => url)
    requireProperty(
      [...urls, ...logout.map(({ responseUrl }) => responseUrl)].every(isWebUrl),
      "web pages",
    )
    for (const each of signingKeys) {
      const bits = createPublicKey(each).asymmetricKeyDetails?.modulusLength ?? 0
      requireProperty(bits >= 2048, "keys for signatures are RSA from 2048 bits")
    }
  },
})
