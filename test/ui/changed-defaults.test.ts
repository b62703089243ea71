// Each row of docs/reference/changed-defaults.md is a promise for upgrades, and has a test.
import { existsSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"

const verifier = "test/domain/user-lookup/verifier.test.ts"
const fresh = "test/login/fresh-provider.test.ts"
const applies = "test/domain/policy/applies.test.ts"
const providerForm = "test/ui/identity-provider-form.test.ts"
const idToken = "test/oauth/id-token.test.ts"
const upgraded = "test/acceptance/upgrade-users.test.ts"

/** By the beginning of a row: the file and the name of the test that fails without it. */
const kept: Readonly<Record<string, readonly [file: string, name: string]>> = {
  "Renewal of a browser's session": [
    "test/domain/session/session.test.ts",
    "is renewed while it is used, in the second half of its idle lifetime",
  ],
  "What passwords must have": [
    "test/boot/setup-pages.test.ts",
    "a new instance wants fifteen characters of any kind, and says so as its policy",
  ],
  "Recovery codes as a second factor": [
    "test/boot/setup-pages.test.ts",
    "a new instance allows recovery codes, which one from before does not",
  ],
  "New recovery codes (`GenerateRecoveryCodes`)": [
    "test/domain/factor/factor-check.test.ts",
    "are refused without another factor that the policy allows",
  ],
  "A login policy that requires a second factor and allows": [
    "test/domain/policy/policy.test.ts",
    "are never none where one is forced",
  ],
  "The page of an invitation": [
    "test/login/invite-passkey.test.ts",
    "offers a passkey first and a password second",
  ],
  "`latchkey admin recover` for an owner": [
    "test/boot/recovery.test.ts",
    "a script is asked nothing, and refused with the flags that it needs",
  ],
  "An address verified by an administrator": [upgraded, "an address that B alone verified"],
  "The same, as seen by": [verifier, "is verified for the applications of their organization"],
  "Client authentication of an application created in the console": [
    "test/e2e/clients.test.ts",
    "requires PKCE without a word where only a proxy signs in",
  ],
  "`groups` and `roles` that a script": [
    "test/oauth/scripted-list.test.ts",
    "a script adds no roles on a project of others in another spelling",
  ],
  "Authorization requests without the scope": ["test/oauth/plain.test.ts", "is for no other app"],
  "Device requests without the scope": [
    "test/oauth/plain.test.ts",
    "is what a device gets without openid, one %s",
  ],
  "A refresh with fewer scopes": [
    "test/oauth/api-scope.test.ts",
    "that a refresh leaves out leaves the audience of the others",
  ],
  "Resource URIs that are added": [
    "test/oauth/resource.test.ts",
    "is taken with and without the slash of an empty path",
  ],
  "The same, in the ID token": [
    "test/oauth/address-claims.test.ts",
    "an address that an organization verified is verified for its own applications: %s",
  ],
  "*Trusted for addresses*": [verifier, "of an organization can't be trusted by it"],
  "Two accounts with one email address": [verifier, "belongs to who proved it last"],
  "Adding a link to a provider": [verifier, "a link to a provider of the instance requires"],
  "`prompt=login`, `max_age` and `ForceAuthn`": [fresh, "prompt=none and max_age: an answer"],
  "`auth_time` after": [fresh, "is the time that the provider states, and amr says"],
  "`amr` after": [fresh, "is the time that the provider states, and amr says"],
  "Account changes within 15 minutes": [fresh, "our own rule of a quarter of an hour"],
  "Encryption key in the metadata": [
    "test/domain/idp/saml.test.ts",
    "gets an encryption key only where encryption is requested",
  ],
  "`acr_values` of an application": [fresh, "acr_values as they were sent, where that is"],
  "A sign-in through a form": [
    "test/login/double-click.test.ts",
    "at once leads to the application both times, by one code",
  ],
  "Failed sign-ins": [
    "test/domain/lockout/failed-sign-in.test.ts",
    "the address and browser of a wrong password are in the private part alone",
  ],
  "Types and aggregates of events": [
    "test/domain/history/presented.test.ts",
    "policies of an organization belong to it, by their new and their old names",
  ],
  "Targets and executions": ["test/domain/target/author.test.ts", "is judged by what its authors"],
  "*Protect against user enumeration* off": [
    "test/login/unknown-name.test.ts",
    "names go on like any other, unless the instance says otherwise",
  ],
  "Passwords not allowed": [
    "test/login/no-passwords.test.ts",
    "is refused for who has a passkey, by a page and by the session API",
  ],
  "Login texts (`SetCustomLoginText`)": [
    "test/login/words-of-steps.test.ts",
    "registrationUserText is said where an account is made, and not at the sign-in",
  ],
  "Sessions of a user who removes": [
    "test/domain/session/administration.test.ts",
    "ends their other sessions, not the one that it was removed with",
  ],
  "`x-core-orgid` with an organization": [
    "test/api/access.test.ts",
    "answers the same in every family where the caller has nothing to do with it",
  ],
  "A domain that was added without": [
    "test/domain/org/primary-domain.test.ts",
    "may be one that was taken on trust, which stands for nobody outside",
  ],
  "Paths of an operation in": [
    "test/api/openapi.test.ts",
    "an operation stands there once, under its plain name, and names its other paths",
  ],
  "Organization settings whose author": [applies, "applies to those who have no more permissions"],
  "New passwords of users": [applies, "choose none that is weaker than the instance requires"],
  "Updates of some values": [
    "test/domain/policy/partial-update.test.ts",
    "keeps the author of its",
  ],
  "Sessions and tokens of users who signed in": [
    "test/oauth/deletion.test.ts",
    "a role with which the provider may not vouch for the user ends what it began",
  ],
  "Identity providers of an organization": [applies, "signs in everybody, as before the upgrade"],
  "Changing mail and SMS": ["test/domain/member/rank.test.ts", "reaches everybody on the instance"],
  "Account creation by": [providerForm, "of the kind %s creates no accounts"],
  "Tenant of a new Microsoft": [providerForm, "of Entra has no tenant, and requires one"],
  "*Allowed email domains*": [
    "test/login/allowed-domain.test.ts",
    "for any address where no domains",
  ],
  "Addresses from an Entra": [
    "test/login/vendor.test.ts",
    "of several tenants (%s) vouches for no",
  ],
  "Users change their own": ["test/domain/user/self.test.ts", "can't be changed without a role"],
  "New login names and group names": [
    "test/acceptance/upgrade-sigma.test.ts",
    "nobody else gets the name %s",
  ],
  "A login name left": ["test/domain/user/name.test.ts", "is reserved until it is released"],
  "Idle HTTP connections": [
    "test/reliability/keep-alive.test.ts",
    "connections that were used outlive those of proxies",
  ],
  "Stopping a node that": [
    "test/reliability/rolling-restart.test.ts",
    "no call is cut in three rolling restarts",
  ],
  "Renaming a user who": ["test/domain/user/name.test.ts", "is one of few: nobody reserves names"],
  "Headers for protected programs": [
    "test/ui/proxy-headers.test.ts",
    "remove every identity header",
  ],
  "A SAML request for": [
    "test/saml/context.test.ts",
    "is what node-saml asks for by default, and believes a passkey",
  ],
  "The consent to a client that": [
    "test/domain/app/settings.test.ts",
    "consents are remembered where registration is turned on now",
  ],
  "An authorization code, or a device": [
    "test/oauth/remembered-consent.test.ts",
    "voids a code %s and that is not redeemed yet",
  ],
  "A pushed authorization": ["test/oauth/par.test.ts", "can be opened again until it is answered"],
  "`prompt=create` while": [
    "test/login/register.test.ts",
    "tells who comes by prompt=create and is signed in, too",
  ],
  "Mail to addresses": ["test/domain/message/kinds.test.ts", "go to verified addresses only"],
  "The same, to an address that": [
    "test/domain/credential/url-template.test.ts",
    "is refused unless it leads to a known domain",
  ],
  "A code that an organization's": [verifier, "is no proof where they have its code returned"],
  "Linking by email without asking": ["test/login/external.test.ts", "proves it first where the"],
  "Manager roles for a user for whom": [
    "test/domain/member/promotion.test.ts",
    "once the caller has confirmed",
  ],
  "Manager roles for a user who is linked": [
    "test/domain/member/promotion-origin.test.ts",
    "a link from before its provider's authors were recorded with it",
  ],
  "What `Remote-User` contains": ["test/oauth/forward-auth.test.ts", "names the user as the"],
  "A request to a protected program": [
    "test/oauth/forward-auth.test.ts",
    "which programs take for ours",
  ],
  "A request to `end_session_endpoint`": [
    "test/oauth/back-end-logout.test.ts",
    "is told that nothing was ended",
  ],
  "A request that must sign in first": [
    "test/oauth/forward-auth.test.ts",
    "whose method the proxy does not name",
  ],
  "*Forgot password?* and links": [
    "test/login/forgot.test.ts",
    "where no mail server is active, the page says whom",
  ],
  "Sign-in by a phone number": [
    "test/domain/user-lookup/phone-holder.test.ts",
    "signs in whoever proved it",
  ],
  "*External sign-in*": [applies, "are those of the instance for users who outrank whoever listed"],
  "A code or link that an administrator views": [
    "test/domain/credential/viewed-code.test.ts",
    "a code proves an address everywhere",
  ],
  "PKCE of applications": [
    "test/e2e/clients.test.ts",
    "requires PKCE without a word where only a proxy signs in",
  ],
  "IDs of deleted applications": ["test/domain/app/client-id.test.ts", "a client that was deleted"],
  "IDs of new users": ["test/domain/app/client-id.test.ts", "a chosen ID can't become that of %s"],
  "Codes and links to sign in": [
    "test/domain/message/message.test.ts",
    "shows nobody a code or link to sign in",
  ],
  "Ciphers of TLS 1.2": ["test/server/tls-cipher.test.ts", "takes no %s unless it is told to"],
  "`iat` and `nbf` of client": ["test/oauth/client-authentication.test.ts", "ten seconds ahead"],
  "`iat` of a request object": ["test/oauth/request-object.test.ts", "issued in the future"],
  "*Profile in ID tokens*": ["test/apply/apply.test.ts", "has the profile in its ID tokens"],
  "A switch that a file": [
    "test/apply/apply.test.ts",
    "what the tokens of an application contain is changed as the file states",
  ],
  "The scopes `groups` and `roles`": [idToken, "are granted where they are requested, and fill"],
  "`aud` of ID tokens": [idToken, "is the client ID of a new application, as a single string"],
  "`client_id` in ID tokens": [
    "test/oauth/id-token-client.test.ts",
    "is there for an existing application alone",
  ],
  "Claims that contain roles": [idToken, "are returned in one claim to a new application"],
  "Lifetime of ID tokens": [
    "test/domain/app/settings.test.ts",
    "an existing instance keeps ID tokens of 12 hours",
  ],
  "`nbf` of access tokens": ["test/oauth/must-rfc9068.test.ts", "claims.nbf"],
  "A message that was not accepted": ["test/domain/message/retry.test.ts", "at growing intervals"],
  "Refresh tokens, and access": [
    "test/oauth/deletion.test.ts",
    "ends refresh tokens that outlive their session",
  ],
  "Links in messages": ["test/domain/message/kinds.test.ts", "&organization=org1#"],
  "Rate limits for IPv6": ["test/kernel/limit.test.ts", "of 256 /64 has four times the budget"],
  "A picture that takes": [
    "test/domain/asset/decoding.test.ts",
    "takes too much memory is refused",
  ],
  "Connections of one": ["test/server/connections.test.ts", "keeps a quarter of the descriptors"],
  "A script that makes": [
    "test/domain/action/engine.test.ts",
    "a call that nothing interrupts ends",
  ],
  "A JPEG with more": ["test/domain/asset/decoding.test.ts", "a JPEG of 15,000 scans"],
  "Redirect URIs with a user": ["test/oauth/register.test.ts", "a backslash in its path"],
  "An `id_token` of": ["test/login/external.test.ts", "a token that was issued to another client"],
  "A code that the same client": ["test/oauth/code-flow.test.ts", "that is sent twice by the same"],
  "Account changes by users": ["test/login/account-code.test.ts", "changes their account after a"],
  "Wrong verification, invitation": ["test/domain/lockout/code-caller.test.ts", "keep out neither"],
  "Access rules of a protected": [
    "test/domain/app/forward-auth.test.ts",
    "a path that begins with",
  ],
  "Forward auth, for users who are signed in": [
    "test/oauth/access-doors.test.ts",
    "forward auth: 403 for a user who is signed in, and never a redirect",
  ],
  "Scripts of an organization": [
    "test/domain/action/token.test.ts",
    "scripts add no email address",
  ],
}

const rows = readFileSync("docs/reference/changed-defaults.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| setting or"))
  .map((line) => line.slice(2))

test("the document has rows", () => {
  expect(rows.length).toBeGreaterThan(20)
})

test.each(rows)("%s", (row) => {
  const found = Object.keys(kept).filter((start) => row.startsWith(start))
  expect(found).toHaveLength(1)
  const [file = "", name] = kept[found[0] ?? ""] ?? []
  expect(existsSync(file)).toBe(true)
  expect(readFileSync(file, "utf8")).toContain(name)
})

test("no row is gone", () => {
  const gone = Object.keys(kept).filter((start) => !rows.some((row) => row.startsWith(start)))
  expect(gone).toEqual([])
})
