// Each row of docs/reference/changed-defaults.md is a promise for upgrades, and has a test.
import { existsSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"

const verifier = "test/domain/user-lookup/verifier.test.ts"
const fresh = "test/login/fresh-provider.test.ts"
const applies = "test/domain/policy/applies.test.ts"
const providerForm = "test/ui/identity-provider-form.test.ts"
const idToken = "test/oauth/id-token.test.ts"
const upgraded = "test/acceptance/upgrade-users.test.ts"

/** By the start of a row: the file and the name of the test that covers it. */
const testByRow: Readonly<Record<string, readonly [file: string, name: string]>> = {
  "Renewal of a browser's session": [
    "test/domain/session/session.test.ts",
    "is renewed by use in the second half of its idle lifetime",
  ],
  "What passwords must have": [
    "test/boot/setup-pages.test.ts",
    "a new instance requires fifteen characters of any kind, also in",
  ],
  "Recovery codes as a second factor": [
    "test/boot/setup-pages.test.ts",
    "a new instance allows recovery codes, an older one does not",
  ],
  "New recovery codes (`GenerateRecoveryCodes`)": [
    "test/domain/factor/factor-check.test.ts",
    "are rejected without another factor that the policy allows",
  ],
  "A login policy that requires a second factor and allows": [
    "test/domain/policy/policy.test.ts",
    "can't be empty if a second factor is required",
  ],
  "The page of an invitation": [
    "test/login/invite-passkey.test.ts",
    "offers a passkey first and a password second",
  ],
  "`latchkey admin recover` for an owner": [
    "test/boot/recovery.test.ts",
    "a script is not prompted, and is rejected with the required flags",
  ],
  "An address verified by an administrator": [upgraded, "an address that B alone verified"],
  "The same, as seen by": [verifier, "is verified for applications of their organization only"],
  "Client authentication of an application created in the console": [
    "test/e2e/clients.test.ts",
    "requires PKCE without a notice if only a proxy signs in",
  ],
  "`groups` and `roles` that a script": [
    "test/oauth/scripted-list.test.ts",
    "a script adds no roles on another organization's project in",
  ],
  "Authorization requests without the scope": [
    "test/oauth/plain.test.ts",
    "is not available to other applications",
  ],
  "Device requests without the scope": [
    "test/oauth/plain.test.ts",
    "is available to a device without openid, one %s",
  ],
  "A refresh with fewer scopes": [
    "test/oauth/api-scope.test.ts",
    "omitted at a refresh keeps the audience of the others",
  ],
  "Resource URIs that are added": [
    "test/oauth/resource.test.ts",
    "is accepted with and without the slash of an empty path",
  ],
  "The same, in the ID token": [
    "test/oauth/address-claims.test.ts",
    "an address verified by an organization is verified for its own",
  ],
  "*Trusted for addresses*": [verifier, "of an organization can't be trusted by it"],
  "Two accounts with one email address": [
    verifier,
    "belongs to the last user who verified it, and is removed from",
  ],
  "Adding a link to a provider": [
    verifier,
    "linking a provider of the instance requires a permission on the",
  ],
  "`prompt=login`, `max_age` and `ForceAuthn`": [
    fresh,
    "prompt=none and max_age: a response without a time is not a fresh",
  ],
  "`auth_time` after": [fresh, "is the time that the provider states, and amr lists the provider"],
  "`amr` after": [fresh, "is the time that the provider states, and amr lists the provider"],
  "Account changes within 15 minutes": [
    fresh,
    "the 15-minute limit for account changes uses the same time",
  ],
  "Encryption key in the metadata": [
    "test/domain/idp/saml.test.ts",
    "has an encryption key only if encryption is requested",
  ],
  "`acr_values` of an application": [fresh, "acr_values unchanged, if configured"],
  "A sign-in through a form": [
    "test/login/double-click.test.ts",
    "concurrently leads to the application both times, with one code",
  ],
  "Failed sign-ins": [
    "test/domain/lockout/failed-sign-in.test.ts",
    "the address and browser of a wrong password are in the private",
  ],
  "Types and aggregates of events": [
    "test/domain/history/presented.test.ts",
    "policies of an organization belong to it, by new and old names",
  ],
  "Targets and executions": [
    "test/domain/target/author.test.ts",
    "is checked against the authors' current permissions",
  ],
  "*Protect against user enumeration* off": [
    "test/login/unknown-name.test.ts",
    "unknown names continue like others by default",
  ],
  "Passwords not allowed": [
    "test/login/no-passwords.test.ts",
    "is rejected for a user with a passkey, by a page and by the",
  ],
  "Login texts (`SetCustomLoginText`)": [
    "test/login/step-texts.test.ts",
    "registrationUserText is shown during registration, and not at the",
  ],
  "Sessions of a user who removes": [
    "test/domain/session/administration.test.ts",
    "ends the user's other sessions, not the current one",
  ],
  "`x-core-orgid` with an organization": [
    "test/api/access.test.ts",
    "returns the same error in every service if the caller has no role",
  ],
  "A domain that was added without": [
    "test/domain/org/primary-domain.test.ts",
    "can be a trusted one, which proves nothing to other organizations",
  ],
  "Paths of an operation in": [
    "test/api/openapi.test.ts",
    "an operation is listed once under its plain name, with its other",
  ],
  "Organization settings whose author": [
    applies,
    "applies to users with no more permissions than its author",
  ],
  "New passwords of users": [
    applies,
    "does not let an instance owner choose a weaker password than the",
  ],
  "Updates of some values": [
    "test/domain/policy/partial-update.test.ts",
    "keeps the author of its",
  ],
  "Sessions and tokens of users who signed in": [
    "test/oauth/deletion.test.ts",
    "a role that outranks the provider ends the sessions it started",
  ],
  "Identity providers of an organization": [applies, "signs in everybody, as before the upgrade"],
  "Changing mail and SMS": [
    "test/domain/member/rank.test.ts",
    "reaches every user of the instance and is therefore permitted to",
  ],
  "Account creation by": [providerForm, "of the kind %s creates no accounts"],
  "Tenant of a new Microsoft": [providerForm, "for Entra has no tenant, and requires one"],
  "*Allowed email domains*": [
    "test/login/allowed-domain.test.ts",
    "for any address if no domains are set, as in existing providers",
  ],
  "Addresses from an Entra": [
    "test/login/vendor.test.ts",
    "of several tenants (%s) verifies no address",
  ],
  "Users change their own": ["test/domain/user/self.test.ts", "can't be changed without a role"],
  "New login names and group names": [
    "test/acceptance/upgrade-sigma.test.ts",
    "no other user can take the name %s",
  ],
  "A login name left": ["test/domain/user/name.test.ts", "is reserved until it is released"],
  "Idle HTTP connections": [
    "test/reliability/keep-alive.test.ts",
    "used connections outlive those of proxies, unused ones don't",
  ],
  "Stopping a node that": [
    "test/reliability/rolling-restart.test.ts",
    "no call is interrupted in three rolling restarts behind %s, and",
  ],
  "Renaming a user who": [
    "test/domain/user/name.test.ts",
    "is one of a limited number of reserved names",
  ],
  "Headers for protected applications": [
    "test/ui/proxy-headers.test.ts",
    "remove every identity header",
  ],
  "A SAML request for": [
    "test/saml/context.test.ts",
    "is node-saml's default, and accepts a passkey",
  ],
  "The consent to a client that": [
    "test/domain/app/settings.test.ts",
    "consents are remembered if registration is turned on now",
  ],
  "An authorization code, or a device": [
    "test/oauth/remembered-consent.test.ts",
    "voids a code %s that is not redeemed yet",
  ],
  "A pushed authorization": [
    "test/oauth/par.test.ts",
    "can be opened again until its response (RFC 9126 §4)",
  ],
  "`prompt=create` while": [
    "test/login/register.test.ts",
    "reports closed registration with prompt=create, also to signed-in",
  ],
  "Mail to addresses": [
    "test/domain/message/kinds.test.ts",
    "an organization's texts, name, and logo are sent to verified",
  ],
  "The same, to an address that": [
    "test/domain/credential/url-template.test.ts",
    "is rejected unless it leads to a known domain: %s",
  ],
  "A code that an organization's": [
    verifier,
    "is not verified for all if they have the code returned",
  ],
  "Linking by email without asking": [
    "test/login/external.test.ts",
    "must prove the account first if the provider is not trusted for",
  ],
  "Administrator roles for a user for whom": [
    "test/domain/member/promotion.test.ts",
    "after the caller has confirmed each credential that another user",
  ],
  "Administrator roles for a user who is linked": [
    "test/domain/member/promotion-origin.test.ts",
    "a link from before its provider's authors were recorded with it",
  ],
  "What `Remote-User` contains": [
    "test/oauth/forward-auth.test.ts",
    "identifies the user as the application is configured",
  ],
  "A request to a protected application": [
    "test/oauth/forward-auth.test.ts",
    "a request with %s, which programs would trust, is rejected for",
  ],
  "A request to `end_session_endpoint`": [
    "test/oauth/backend-logout.test.ts",
    "gets an error, and its administrator the setting to enable",
  ],
  "A request that must sign in first": [
    "test/oauth/forward-auth.test.ts",
    "whose method the proxy does not name",
  ],
  "*Forgot password?* and links": [
    "test/login/forgot.test.ts",
    "without an active mail server, the page names a contact and offers",
  ],
  "Sign-in by a phone number": [
    "test/domain/user-lookup/phone-holder.test.ts",
    "signs in the user who verified it, whatever another organization",
  ],
  "*Allow identity providers*": [
    applies,
    "is that of the instance for users with more permissions than the",
  ],
  "A code or link that an administrator views": [
    "test/domain/credential/viewed-code.test.ts",
    "a code that %s viewed verifies an address everywhere: %s",
  ],
  "PKCE of applications": [
    "test/e2e/clients.test.ts",
    "requires PKCE without a notice if only a proxy signs in",
  ],
  "IDs of deleted applications": ["test/domain/app/client-id.test.ts", "a client that was deleted"],
  "IDs of new users": [
    "test/domain/app/client-id.test.ts",
    "a chosen ID can't become the ID of %s",
  ],
  "Codes and links to sign in": [
    "test/domain/message/message.test.ts",
    "never returns a sign-in code or link",
  ],
  "Ciphers of TLS 1.2": ["test/server/tls-cipher.test.ts", "rejects %s unless configured"],
  "`iat` and `nbf` of client": ["test/oauth/client-authentication.test.ts", "ten seconds ahead"],
  "`iat` of a request object": ["test/oauth/request-object.test.ts", "issued in the future"],
  "*Profile in ID tokens*": ["test/apply/apply.test.ts", "has the profile in its ID tokens"],
  "A switch that a file": [
    "test/apply/apply.test.ts",
    "the token contents of an application change as the file defines",
  ],
  "The scopes `groups` and `roles`": [idToken, "are granted if requested, and fill flat lists"],
  "`aud` of ID tokens": [idToken, "is the client ID of a new application, as a single string"],
  "`client_id` in ID tokens": [
    "test/oauth/id-token-client.test.ts",
    "by %s exists for an existing application only",
  ],
  "Claims that contain roles": [idToken, "are returned in one claim to a new application"],
  "Lifetime of ID tokens": [
    "test/domain/app/settings.test.ts",
    "an existing instance keeps ID tokens of 12 hours",
  ],
  "`nbf` of access tokens": ["test/oauth/must-rfc9068.test.ts", "claims.nbf"],
  "A message that was not accepted": [
    "test/domain/message/retry.test.ts",
    "attempts have increasing intervals of at most a quarter of an hour",
  ],
  "Refresh tokens, and access": [
    "test/oauth/deletion.test.ts",
    "ends refresh tokens that outlive their session",
  ],
  "Links in messages": ["test/domain/message/kinds.test.ts", "&organization=org1#"],
  "Rate limits for IPv6": ["test/kernel/limit.test.ts", "of 256 /64 has four times the budget"],
  "A picture that takes": [
    "test/domain/asset/decoding.test.ts",
    "rejects a picture that takes too much memory, and accepts one that",
  ],
  "Connections of one": [
    "test/server/connections.test.ts",
    "an address can use a quarter of the descriptors, and others keep",
  ],
  "A script that makes": [
    "test/domain/action/engine.test.ts",
    "an uninterrupted call ends after its iteration limit",
  ],
  "A JPEG with more": ["test/domain/asset/decoding.test.ts", "a JPEG of 15,000 scans"],
  "Redirect URIs with a user": ["test/oauth/register.test.ts", "a backslash in its path"],
  "An `id_token` of": ["test/login/external.test.ts", "a token that was issued to another client"],
  "A code that the same client": [
    "test/oauth/code-flow.test.ts",
    "that the same client sends twice leaves the first response valid",
  ],
  "Account changes by users": [
    "test/login/account-code.test.ts",
    "can change the account for a while after entering an emailed code",
  ],
  "Wrong verification, invitation": [
    "test/domain/lockout/code-caller.test.ts",
    "block neither another address or browser nor a service account",
  ],
  "Access rules of a protected": [
    "test/domain/app/forward-auth.test.ts",
    "a path that starts with the characters of a rule satisfies that",
  ],
  "Forward auth, for users who are signed in": [
    "test/oauth/access-doors.test.ts",
    "forward auth: 403 for a user who is signed in, and never a redirect",
  ],
  "Scripts of an organization": [
    "test/domain/action/token.test.ts",
    "scripts can't add email addresses or phone numbers, targets can",
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
  const found = Object.keys(testByRow).filter((start) => row.startsWith(start))
  expect(found).toHaveLength(1)
  const [file = "", name] = testByRow[found[0] ?? ""] ?? []
  expect(existsSync(file)).toBe(true)
  expect(readFileSync(file, "utf8")).toContain(name)
})

test("no row was removed", () => {
  const gone = Object.keys(testByRow).filter((start) => !rows.some((row) => row.startsWith(start)))
  expect(gone).toEqual([])
})
