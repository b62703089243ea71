// The costliest input for each decoder, from anonymous callers and token holders. New decoders add
// rows here; the benchmark sends them all.

/** A request, and its expected response: rejected unread, rejected when counted, or served. */
export type CostlyRequest = {
  readonly decoder: string
  readonly what: string
  readonly as: "stranger" | "owner"
  readonly path: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Without a body it is a GET. */
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly over?: "grpc"
  /** Status, and a part of the body or of gRPC's status. */
  readonly answer: RegExp
}

const MB = 1024 * 1024
const users = "/core.user.v2.UserService"
const orgs = "/core.org.v2.OrganizationService"
const [list, create] = [`${users}/ListUsers`, `${users}/CreateUser`]
const [json, proto, web] = ["application/json", "application/proto", "application/grpc-web+proto"]
const webText = "application/grpc-web-text"

const bytesOf = (hex: string, times: number) =>
  new Uint8Array(Buffer.from(hex.repeat(times), "hex"))

/** A gRPC-Web frame around a message. */
function frameMessage(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = Buffer.alloc(5 + message.length)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, 5)
  return new Uint8Array(frame)
}
const toText = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")
const compress = (text: string) => new Uint8Array(Bun.gzipSync(text))

const fillText = (head: string, fill: string, tail: string, size = MB) =>
  head + fill.repeat(Math.floor((size - head.length - tail.length) / fill.length)) + tail
const listOf = (head: string, each: string, count: number, tail: string) =>
  `${head}${Array.from({ length: count }, () => each).join()}${tail}`

const rejectedUnread = /^(401|16) /
const tooMany = /too_many_parts|keys and values/
const tooManyItems = /^400 .*must have at most 1000? elements/
const tooLong = /^400 .*must be at most 10000 characters/
const large = /^(413|8) /

type Part = Pick<CostlyRequest, "what" | "body" | "answer"> & Partial<CostlyRequest>
const rows = (
  common: Partial<CostlyRequest> & Pick<CostlyRequest, "decoder" | "path">,
  parts: readonly Part[],
) => parts.map((part): CostlyRequest => ({ as: "owner", ...common, ...part }))

const emptyParts = bytesOf("1a00", 2_000_000)
const unknownKeys = (count: number) =>
  `{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join()}}`

const metadataOf = (count: number) =>
  JSON.stringify(Array.from({ length: count }, (_, at) => ({ key: `key ${at}`, value: "AAAA" })))
const person = '"profile":{"givenName":"W","familyName":"W"},"email":{"email":"worst@example.com"}'
const userWith = (count: number) =>
  `{"organizationId":"$org","username":"worst$fresh",` +
  `"human":{${person},"metadata":${metadataOf(count)}}}`

const api: readonly CostlyRequest[] = [
  ...rows({ decoder: "JSON", path: list, type: json, as: "stranger", answer: rejectedUnread }, [
    {
      what: "a key of 4 MB",
      body: fillText('{"', "response", '":1}', 4 * MB),
      answer: rejectedUnread,
    },
    { what: "2 million empty messages", body: emptyParts, type: proto, answer: rejectedUnread },
    {
      what: "the same, framed",
      body: frameMessage(emptyParts),
      type: web,
      answer: /(401|200) .*16/s,
    },
    {
      what: "the same, as text",
      body: toText(frameMessage(emptyParts)),
      type: webText,
      answer: /200/,
    },
    {
      what: "the same by gRPC",
      body: frameMessage(emptyParts),
      over: "grpc",
      answer: rejectedUnread,
    },
    {
      what: "4 kB where it is public",
      path: "/core.system.v1.SystemService/Healthz",
      body: "[".repeat(4096),
      answer: /^400 /,
    },
  ]),
  ...rows({ decoder: "JSON", path: create, type: json }, [
    { what: "a key of 1 MB", body: fillText('{"', "response", '":1}'), answer: /^400 .{0,700}$/s },
    { what: "4 MB", body: fillText('{"username":"', "x", '"}', 4 * MB), answer: large },
    { what: "a text of 1 MB", body: fillText('{"username":"', "x", '"}'), answer: /^400 / },
    { what: "1 MB of escapes", body: fillText('{"username":"', "\\n", '"}'), answer: /^400 / },
    { what: "1 MB of spaces", body: fillText("{", " ", "}"), answer: /^400 / },
    { what: "1 MB cut off in a text", body: fillText('{"username":"', "x", ""), answer: /^400 / },
    {
      what: "1 MB cut off in an escape",
      body: fillText('{"username":"', "\\n", ""),
      answer: /^400 /,
    },
    { what: "1 MB of lines, cut off", body: fillText("{", "\n", ""), answer: /^400 / },
    {
      what: "350,000 empty messages",
      body: listOf('{"metadata":[', "{}", 349_000, "]}"),
      answer: tooMany,
    },
    {
      what: "5,000 empty messages",
      body: listOf('{"metadata":[', "{}", 4990, "]}"),
      answer: /^400 /,
    },
    { what: "80,000 unknown keys", body: unknownKeys(80_000), answer: tooMany },
    { what: "4,900 unknown keys", body: unknownKeys(4900), answer: /^400 / },
    { what: "a stack of lists", body: `{"metadata":${"[".repeat(9900)}`, answer: /^400 / },
    {
      what: "1 MB of base64url",
      body: fillText('{"metadata":[{"key":"a","value":"', "AA-_", '"}]}'),
      answer: /^400 /,
    },
    {
      what: "8 MB in 8 kB of gzip",
      body: compress(" ".repeat(8 * MB)),
      headers: { "content-encoding": "gzip" },
      answer: /^(413|429) /,
    },
  ]),
  ...rows({ decoder: "JSON", path: list, type: json }, [
    {
      what: "an offset of 1 MB",
      body: fillText('{"query":{"offset":"', "9", '"}}'),
      answer: /^400 /,
    },
    {
      what: "an offset of 9,900 digits",
      body: fillText('{"query":{"offset":"', "9", '"}}', 9900),
      answer: /^400 /,
    },
    {
      what: "a name of 1 MB of marks",
      body: fillText('{"queries":[{"userNameQuery":{"userName":"', "\u0301\u0316", '"}}]}', MB / 2),
      answer: tooLong,
    },
    {
      what: "a name of 10,000 marks",
      body: fillText('{"queries":[{"userNameQuery":{"userName":"', "\u0301\u0316", '"}}]}', 10_000),
      answer: /^200 /,
    },
    {
      what: "2,000 queries",
      body: listOf('{"queries":[', '{"userNameQuery":{}}', 2000, "]}"),
      answer: tooManyItems,
    },
    {
      what: "9,900 ids",
      body: listOf('{"queries":[{"inUserIdsQuery":{"userIds":[', '"1"', 9900, "]}}]}"),
      answer: tooManyItems,
    },
    {
      what: "999 ids",
      body: listOf('{"queries":[{"inUserIdsQuery":{"userIds":[', '"1"', 999, "]}}]}"),
      answer: /^200 /,
    },
  ]),
  ...rows({ decoder: "commands", path: create, type: json }, [
    {
      what: "a user with 500 keys of metadata",
      body: userWith(500),
      answer: tooManyItems,
    },
    { what: "a user with 100 keys of metadata", body: userWith(100), answer: /^200 / },
    {
      what: "9,900 keys to forget",
      path: `${users}/DeleteUserMetadata`,
      body: listOf('{"userId":"$user","keys":[', '"k"', 9900, "]}"),
      answer: tooManyItems,
    },
    {
      what: "500 keys of an organization",
      path: `${orgs}/SetOrganizationMetadata`,
      body: `{"organizationId":"$org","metadata":${metadataOf(500)}}`,
      answer: tooManyItems,
    },
    {
      what: "100 keys of an organization",
      path: `${orgs}/SetOrganizationMetadata`,
      body: `{"organizationId":"$org","metadata":${metadataOf(100)}}`,
      answer: /^200 /,
    },
  ]),
  ...rows({ decoder: "proto", path: list, type: proto }, [
    { what: "500,000 empty messages", body: bytesOf("1a00", 500_000), answer: tooMany },
    { what: "10,000 empty messages", body: bytesOf("1a00", 10_000), answer: /^\d+ / },
    { what: "10,000 unknown fields", body: bytesOf("f80700", 10_000), answer: /^200 / },
    {
      what: "the same framed, too many",
      body: frameMessage(bytesOf("1a00", 500_000)),
      type: web,
      answer: tooMany,
    },
    {
      what: "the same as text",
      body: toText(frameMessage(bytesOf("1a00", 500_000))),
      type: webText,
      answer: /^200 /,
    },
    {
      what: "the same by gRPC",
      body: frameMessage(bytesOf("1a00", 500_000)),
      over: "grpc",
      answer: tooMany,
    },
  ]),
  ...rows({ decoder: "REST", path: "/management/v1/projects/_search", type: json }, [
    { what: "a blank of 1 MB", body: " ".repeat(MB), answer: /^200 / },
    {
      what: "1 MB of blanks before a letter",
      path: "/domains/_search",
      body: fillText("", " ", "x"),
      answer: /^400 /,
    },
    {
      what: "a query of 14 kB",
      path: `/domains/_search?${"x&".repeat(7000)}`,
      body: "",
      answer: /^400 /,
    },
    {
      what: "a parameter of 14 kB",
      path: `/domains/_search?${"x".repeat(14_000)}=1`,
      body: "",
      answer: /^400 /,
    },
  ]),
]

const form = "application/x-www-form-urlencoded"
const part = (text: string) => Buffer.from(text).toString("base64url")
/** A JWT of about `size` bytes whose claims are nested lists. */
const deepJwt = (size: number) => {
  const depth = Math.floor((size * 3) / 8)
  const claims = part(`{"iss":"1","sub":"1","aud":${"[".repeat(depth)}${"]".repeat(depth)}}`)
  return `${part('{"alg":"RS256","kid":"1"}')}.${claims}.AAAA`
}
const crowdedJwt = (size: number) =>
  `${part('{"alg":"RS256","kid":"1"}')}.${part(`{"a":[${"1,".repeat(size / 3)}1]}`)}.AAAA`
const dotsOf = (size: number) => ".".repeat(size)
const grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"

const oauth: readonly CostlyRequest[] = [
  ...rows({ decoder: "form", path: "/oauth/v2/token", type: form, as: "stranger" }, [
    { what: "4 MB", body: "a".repeat(4 * MB), answer: /^413 / },
    { what: "30,000 parameters", body: "a&".repeat(30_000), answer: /^400 / },
    {
      what: "500 parameters of 64 kB",
      body: fillText(grant, `&${"%61".repeat(42)}`, "", 65_000),
      answer: /^400 /,
    },
    {
      what: "64 kB of %-codes",
      body: fillText(`${grant}&assertion=`, "%61", "", 65_500),
      answer: /^400 /,
    },
    {
      what: "a scope of 64 kB",
      body: fillText(`${grant}&scope=`, "a+", "", 65_500),
      answer: /^400 /,
    },
    {
      what: "a login name of 4,000 marks",
      path: "/ui/login/loginname",
      headers: { accept: "text/html", "sec-fetch-site": "same-origin" },
      body: fillText("loginName=", "\u0301\u0316", "", 4000),
      answer: /^40[03] /,
    },
  ]),
  ...rows({ decoder: "JWT", path: "/oauth/v2/token", type: form, as: "stranger" }, [
    { what: "64 kB of lists", body: `${grant}&assertion=${deepJwt(60_000)}`, answer: /^400 / },
    { what: "64 kB of numbers", body: `${grant}&assertion=${crowdedJwt(45_000)}`, answer: /^400 / },
    { what: "64 kB of dots", body: `${grant}&assertion=${".".repeat(65_000)}`, answer: /^400 / },
    {
      what: "a subject of 64 kB",
      path: "/oauth/v2/introspect",
      body: `client_id=1&client_secret=1&token=${deepJwt(60_000)}`,
      answer: /^40[01] /,
    },
    {
      what: "a proof of 14 kB",
      headers: { dpop: deepJwt(14_000) },
      body: `${grant}&assertion=a`,
      answer: /^400 /,
    },
    {
      what: "a bearer of 14 kB",
      path: "/oidc/v1/userinfo",
      headers: { authorization: `Bearer ${deepJwt(14_000)}` },
      answer: /^401 /,
    },
  ]),
  ...rows({ decoder: "JWT", path: list, type: json, as: "stranger", answer: rejectedUnread }, [
    ...Object.entries({ lists: deepJwt, numbers: crowdedJwt, dots: dotsOf }).map(
      ([what, jwt]): Part => ({
        what: `a bearer of 14 kB of ${what}`,
        headers: { authorization: `Bearer ${jwt(14_000)}` },
        body: "{}",
        answer: rejectedUnread,
      }),
    ),
  ]),
  ...rows({ decoder: "JWT", path: "/oauth/v2/authorize", as: "stranger" }, [
    ...Object.entries({ lists: deepJwt, numbers: crowdedJwt, dots: dotsOf }).flatMap(
      ([what, jwt]): Part[] => [
        {
          what: `a request object of 14 kB of ${what}`,
          path: `/oauth/v2/authorize?client_id=$client&request=${jwt(14_000)}`,
          answer: /^400 /,
        },
        {
          what: `a hint of 14 kB of ${what}`,
          path: `/oidc/v1/endsession?client_id=$client&id_token_hint=${jwt(14_000)}`,
          answer: /^\d+ /,
        },
      ],
    ),
  ]),
  ...rows({ decoder: "query", path: "/oauth/v2/authorize", as: "stranger" }, [
    {
      what: "7,000 parameters",
      path: `/oauth/v2/authorize?${"a&".repeat(7000)}`,
      answer: /^4\d\d |^200 /,
    },
  ]),
  ...rows({ decoder: "cookies", path: "/ui/login/loginname", as: "stranger" }, [
    {
      what: "3,000 of them",
      headers: { accept: "text/html", cookie: "a=b; ".repeat(2900) },
      answer: /^\d+ /,
    },
    {
      what: "one of 14 kB",
      headers: { accept: "text/html", cookie: `latchkey=${"1.".repeat(7000)}` },
      answer: /^\d+ /,
    },
  ]),
]

const saml = (xml: string) =>
  JSON.stringify({
    projectId: "$project",
    name: "worst",
    samlConfiguration: { metadataXml: Buffer.from(xml).toString("base64") },
  })
const entity = '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="a">'
const closing = "</EntityDescriptor>"
const attributes = (count: number, name: string, size: number) =>
  Array.from({ length: count }, (_, at) => `${name}${at}="${"x".repeat(size)}"`).join(" ")
const metadata: readonly CostlyRequest[] = rows(
  {
    decoder: "SAML metadata",
    path: "/core.application.v2.ApplicationService/CreateApplication",
    type: json,
  },
  [
    {
      what: "100,000 tags",
      body: saml(`${entity}${"<a/>".repeat(100_000)}${closing}`),
      answer: /^400 .*more than 3000 tags/,
    },
    {
      what: "2,900 tags",
      body: saml(`${entity}${"<a/>".repeat(2900)}${closing}`),
      answer: /^400 .*SPSSODescriptor/,
    },
    {
      what: "1,490 tags in a stack",
      body: saml(`${entity}${"<a>".repeat(1490)}${"</a>".repeat(1490)}${closing}`),
      answer: /^400 .*SPSSODescriptor/,
    },
    {
      what: "990 attributes",
      body: saml(`${entity}<a ${attributes(990, "a", 450)}/>${closing}`),
      answer: /^400 .*SPSSODescriptor/,
    },
    {
      what: "9,900 attributes",
      body: saml(`${entity}<a ${attributes(9900, "a", 30)}/>${closing}`),
      answer: /^400 .*more than 1000 attributes/,
    },
    {
      what: "500 kB of text",
      body: saml(fillText(entity, "&amp;", closing, 499_000)),
      answer: /^400 /,
    },
    {
      what: "500 kB of spaces in a tag",
      body: saml(fillText(`${entity}<a `, " ", `/>${closing}`, 499_000)),
      answer: /^400 /,
    },
    {
      what: "500 kB of a name",
      body: saml(fillText(`${entity}<`, "a", `/>${closing}`, 499_000)),
      answer: /^400 /,
    },
    {
      what: "500 kB of namespaces",
      body: saml(
        `${entity}<a ${attributes(190, "xmlns:a", 2000)}>${"<b/>".repeat(2900)}</a>${closing}`,
      ),
      answer: /^400 /,
    },
    {
      what: "500 kB of lines",
      body: saml(`${entity}${`${"\n".repeat(160)}<a/>`.repeat(2900)}${closing}`),
      answer: /^400 .*SPSSODescriptor/,
    },
    {
      what: "500 kB of carriage returns",
      body: saml(fillText(entity, "\r", closing, 499_000)),
      answer: /^400 .*more than 20000 carriage returns/,
    },
    {
      what: "500 kB of protocols",
      body: saml(
        fillText(
          `${entity}<SPSSODescriptor protocolSupportEnumeration="`,
          "a ",
          `"></SPSSODescriptor>${closing}`,
          499_000,
        ),
      ),
      answer: /^400 .*SPSSODescriptor/,
    },
    {
      what: "500 kB cut off",
      body: saml(fillText(`${entity}<a b="`, "x", "", 499_000)),
      answer: /^400 /,
    },
    {
      what: "500 kB of a comment",
      body: saml(fillText(`${entity}<!--`, "- ", "", 499_000)),
      answer: /^400 /,
    },
  ],
)

const samlNames = 'xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" ID="_1" Version="2.0"'
const [asking, asked] = [`<p:AuthnRequest ${samlNames}`, "</p:AuthnRequest>"]
/** A message of the maximum size, for each binding. */
const createLargest = (fill: string, size = 65_500) => fillText(`${asking}>`, fill, asked, size)
const encodeForRedirect = (xml: string) =>
  encodeURIComponent(Buffer.from(Bun.deflateSync(Buffer.from(xml))).toString("base64"))
const encodeForPost = (xml: string) => encodeURIComponent(Buffer.from(xml).toString("base64"))
const messages: readonly CostlyRequest[] = [
  ...Object.entries({
    "8 MB of spaces": [" ".repeat(8 * MB), /^400 .*more than 65536 bytes/s],
    "64 kB of tags": [createLargest("<a/>"), /^400 .*more than/s],
    "64 kB of a stack": [`${asking}>${"<a>".repeat(21_000)}`, /^400 /],
    "30 kB of attributes": [`${asking} ${attributes(2900, "a", 1)}/>`, /^400 .*more than/s],
    "64 kB of namespaces": [`${asking} ${attributes(3000, "xmlns:a", 6)}/>`, /^400 /],
    "64 kB of entities": [createLargest("&amp;"), /^400 /],
    "64 kB of lines": [createLargest("\n"), /^400 /],
    "64 kB of carriage returns": [createLargest("\r"), /^400 .*carriage/s],
    "64 kB of spaces in a tag": [fillText(`${asking} `, " ", "/>", 65_500), /^400 /],
    "64 kB of a comment": [fillText(`${asking}><!--`, "- ", "", 65_500), /^400 /],
  } as const).flatMap(([what, [xml, answer]]) =>
    rows({ decoder: "SAML message", path: "/saml/v2/SSO", as: "stranger", answer }, [
      {
        what: `${what}, deflated`,
        path: `/saml/v2/SSO?SAMLRequest=${encodeForRedirect(xml)}`,
        answer,
      },
      {
        what: `${what}, in a form`,
        type: form,
        body: `SAMLRequest=${encodeForPost(xml.slice(0, 80_000))}`,
        answer: /^400 /,
      },
    ]),
  ),
]

/** The sender replaces the placeholders for IDs. */
export const costlyRequests: readonly CostlyRequest[] = [...api, ...oauth, ...metadata, ...messages]
