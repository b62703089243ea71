// Every part of the program that parses data in a format, and the limit of its cost.
// test/contract/decoders.test.ts fails for files that are not listed here.

/** Who can send a decoder's input, from the least trusted. */
export type Sender =
  | "anybody"
  | "a user"
  | "an organization's administrator"
  | "an instance administrator"
  | "another server"
  | "the operator"
  | "this program"

export type Decoder = {
  readonly name: string
  /** Paths below src; one that ends in / is a directory. */
  readonly files: readonly string[]
  readonly input: string
  readonly sender: Sender
  /** What limits the work. */
  readonly bound: string
  /** Rows of `costlyRequests`, or test files, that send the costliest input. */
  readonly tests?: {
    readonly costlyRequests?: readonly string[]
    readonly files?: readonly string[]
  }
}

export const decoders: readonly Decoder[] = [
  {
    name: "pictures",
    files: ["domain/asset/picture/decode.ts", "domain/asset/picture.ts"],
    input: "avatars, logos and icons: PNG, JPEG, WebP, GIF",
    sender: "a user",
    bound:
      "512 kB, 16 million pixels, 100 scans; a process that is ended after 4 s of computing, " +
      "30 s or 256 MB; one at a time, organizations in turn, 8 of each wait",
    tests: { costlyRequests: ["picture"], files: ["test/domain/asset/decoding.test.ts"] },
  },
  {
    name: "SVG",
    files: ["xml/document.ts"],
    input: "logos and icons",
    sender: "an organization's administrator",
    bound:
      "256 kB; tags, attributes, namespaces and references counted before parsing; above 16 kB " +
      "a thread that is terminated after 5 s, in the same queue as pictures",
    tests: { costlyRequests: ["SVG"], files: ["test/domain/asset/decoding.test.ts"] },
  },
  {
    name: "SAML message",
    files: [
      "xml/binding.ts",
      "xml/decrypt.ts",
      "xml/document.ts",
      "xml/encrypt.ts",
      "xml/signature.ts",
      "domain/idp/saml/response.ts",
    ],
    input: "requests and responses, in an address or a form",
    sender: "anybody",
    bound:
      "64 kB inflated, 400 kB from a provider; 300 or 2400 tags, 40 levels, 20 inclusive " +
      "prefixes, namespaces of 300 characters; the signature is checked before the message is " +
      "canonicalized; a certificate that came along is read to 8,000 characters, for its hash",
    tests: {
      costlyRequests: ["SAML message"],
      files: ["test/xml/costly.test.ts", "test/xml/read.test.ts"],
    },
  },
  {
    name: "SAML metadata",
    files: ["xml/document.ts", "xml/verify.ts", "xml/encrypt.ts"],
    input: "metadata of applications and providers, with certificates",
    sender: "an organization's administrator",
    bound: "500 kB, 3000 tags, 1000 attributes, 200 namespaces, 10,000 references",
    tests: { costlyRequests: ["SAML metadata"] },
  },
  {
    name: "JSON",
    files: ["api/input/decode.ts", "api/input/syntax.ts", "api/encoding/query.ts"],
    input: "bodies and queries of the API",
    sender: "anybody",
    bound:
      "4 kB without a token, 1 MB with one, read only after authentication; 10,000 keys and " +
      "values, counted in one pass before parsing; 10,000 letters a text",
    tests: { costlyRequests: ["JSON", "REST", "commands"] },
  },
  {
    name: "proto",
    files: ["api/input/decode.ts", "api/encoding/detail.ts"],
    input: "the same in protobuf, gRPC, gRPC-Web",
    sender: "anybody",
    bound: "the same sizes; 10,000 fields, walked before decoding; 100 levels",
    tests: { costlyRequests: ["proto"] },
  },
  {
    name: "gzip",
    files: ["api/input/body.ts"],
    input: "compressed bodies of the API",
    sender: "a user",
    bound: "inflated off the event loop, and only up to the limit of the body",
    tests: { costlyRequests: ["JSON"] },
  },
  {
    name: "multipart forms",
    files: ["api/input/file.ts"],
    input: "uploaded files",
    sender: "a user",
    bound: "1.5 MB, 20 parts, counted before parsing",
    tests: { costlyRequests: ["multipart"] },
  },
  {
    name: "JSON import",
    files: [
      "domain/transfer/binding/v1-app.ts",
      "domain/transfer/binding/v1-export.ts",
      "domain/transfer/binding/v1-import.ts",
      "domain/transfer/binding/v1-line.ts",
      "domain/transfer/binding/v1-location.ts",
      "domain/transfer/binding/v1-policy.ts",
      "domain/transfer/binding/v1-text.ts",
      "protocol/transfer/line.ts",
    ],
    input: "ImportData, and files of an export",
    sender: "an instance administrator",
    bound: "the limits of JSON for a call; line by line from a file; each thing is one command",
    tests: { costlyRequests: ["JSON import"] },
  },
  {
    name: "imports from other products",
    files: ["boot/users/"],
    input: "CSV, JSON and YAML of users on the command line",
    sender: "the operator",
    bound: "read by the command's own process, which serves nobody; line by line, YAML to 8 MB",
    tests: { files: ["test/fuzz/target/people.ts"] },
  },
  {
    name: "form",
    files: ["login/screen/factor/attempt.ts", "domain/factor/key/first-key.ts"],
    input: "fields that contain JSON",
    sender: "anybody",
    bound: "forms of 64 kB and 500 parameters; 16 kB of address, cookies and credentials",
    tests: { costlyRequests: ["form", "query", "cookies"] },
  },
  {
    name: "JWT",
    files: [
      "oauth/client/assertion.ts",
      "oauth/client/jwt.ts",
      "oauth/client/proof.ts",
      "oauth/authorize/request/request-object.ts",
      "oauth/system-caller.ts",
      "oauth/token/claims/kind.ts",
      "domain/key/jwe.ts",
      "domain/key/jws.ts",
    ],
    input: "assertions, proofs, request objects, hints, access tokens",
    sender: "anybody",
    bound: "64 kB in a form, 16 kB in a head; the key is found before the claims are parsed",
    tests: { costlyRequests: ["JWT"] },
  },
  {
    name: "claims parameter",
    files: ["oauth/authorize/request/claims-parameter.ts"],
    input: "the parameter claims of an authorization request",
    sender: "anybody",
    bound: "16 kB in an address, 64 kB in a form",
    tests: { costlyRequests: ["claims parameter"] },
  },
  {
    name: "client registration",
    files: ["oauth/registration/jwks.ts", "oauth/registration/json-member.ts"],
    input: "metadata and keys of a client",
    sender: "anybody",
    bound: "16 kB sent, 10 kB fetched",
    tests: { costlyRequests: ["client registration"] },
  },
  {
    name: "passkeys",
    files: [
      "domain/factor/binding/v1.ts",
      "domain/factor/key/webauthn-check.ts",
      "domain/factor/key/webauthn.ts",
    ],
    input: "CBOR and certificates of authenticators",
    sender: "a user",
    bound: "16 kB for each part, looked at before anything is decoded",
    tests: { files: ["test/fuzz/target/webauthn.ts"] },
  },
  {
    name: "keys and certificates",
    files: [
      "domain/app/registration.ts",
      "domain/idp/check-directory.ts",
      "domain/idp/check.ts",
      "domain/idp/upstream/apple.ts",
      "domain/message-provider/check.ts",
      "domain/target/public-key.ts",
    ],
    input: "PEM in settings",
    sender: "an organization's administrator",
    bound: "10,000 letters a text, within the limits of JSON",
    tests: { costlyRequests: ["keys"] },
  },
  {
    name: "scripts",
    files: [
      "domain/action/run/script-user.ts",
      "domain/action/run/target.ts",
      "domain/action/script/",
    ],
    input: "scripts of actions with their regular expressions, and what they return",
    sender: "an organization's administrator",
    bound:
      "a thread that ends within its 1 s of computing, 32 MB, 100 million loop iterations in " +
      "one call; 4 threads, 2 of one organization, which take turns",
    tests: {
      files: ["test/domain/action/hostile.test.ts", "test/domain/action/engine.test.ts"],
    },
  },
  {
    name: "patterns",
    files: ["protocol/wildcard.ts"],
    input: "redirect URIs with wildcards, the only pattern that is configured",
    sender: "an organization's administrator",
    bound: "2048 characters; a wildcard doesn't cross a label or a part of a path",
    tests: { files: ["test/domain/asset/decoding.test.ts"] },
  },
  {
    name: "answers of identity providers",
    files: [
      "domain/idp/upstream/finish.ts",
      "domain/idp/upstream/issuer.ts",
      "domain/idp/upstream/keys.ts",
      "domain/idp/upstream/server.ts",
      "notify/ldap.ts",
    ],
    input: "JSON, JWTs and LDAP",
    sender: "another server",
    bound: "256 kB, LDAP 1 MB, 5 s",
    tests: { files: ["test/domain/idp/idp.test.ts"] },
  },
  {
    name: "answers of targets and providers of messages",
    files: [
      "domain/message-provider/xoauth2.ts",
      "domain/target/call/rejection.ts",
      "notify/smtp.ts",
      "server/edge/acme/",
      "apply/api-client.ts",
    ],
    input: "JSON, SMTP, ACME",
    sender: "another server",
    bound: "64 kB, 1 MB from a target, each with a timeout; both set by instance administrators",
    tests: { files: ["test/notify/outbound.test.ts"] },
  },
  {
    name: "files of the operator",
    files: ["apply/", "boot/", "boot/audit/chain.ts", "kernel/setting/parser.ts"],
    input: "settings, keys, certificates, backups, audit logs, YAML of apply",
    sender: "the operator",
    bound: "read at the start or by a command, from files that only the operator writes",
  },
  {
    name: "what this program has written or signed",
    files: [
      "domain/action/run/test-run.ts",
      "domain/action/v2.ts",
      "api/openapi/",
      "domain/federation/",
      "domain/history/",
      "domain/idp/intent/commands.ts",
      "domain/idp/saml/key-pair.ts",
      "domain/key/saml/certificate.ts",
      "domain/key/signer.ts",
      "domain/session/",
      "domain/setup/create.ts",
      "domain/factor/binding/v2.ts",
      "domain/service-account/personal-token.ts",
      "kernel/crypto/secret.ts",
      "kernel/crypto/signing-key.ts",
      "login/page-state.ts",
      "login/part/challenge.ts",
      "login/screen/link/magic-link.ts",
      "login/screen/password/change.ts",
      "oauth/code.ts",
      "oauth/forward/",
      "oauth/custom-login/sealed-response.ts",
      "oauth/token/refresh.ts",
      "oauth/token/statement.ts",
      "saml/endpoint/sealed-request.ts",
      "saml/logout/sealed-logout.ts",
      "http/assets.ts",
      "server/background/audit-collector.ts",
      "server/development/",
      "server/edge/",
      "server/openapi.ts",
      "server/setup/routes.ts",
      "store/",
    ],
    input: "stored rows, sealed cookies and codes, files in the binary, development pages",
    sender: "this program",
    bound: "authenticated or stored before it is parsed, and limited when it was written",
  },
  {
    name: "expressions that are fixed",
    files: [
      "protocol/domain.ts",
      "kernel/text/name.ts",
      "protocol/user-field.ts",
      "server/operator/doctor.ts",
      "api/input/syntax.ts",
      "api/input/rules.ts",
    ],
    input: "names, domains and addresses in limited texts",
    sender: "anybody",
    bound: "10,000 letters a text; the expressions are made of constants",
    tests: { costlyRequests: ["JSON", "form"] },
  },
]
