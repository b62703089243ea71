import type { FlowType, Trigger } from "../flow-kind.ts"
import type { Shape } from "./messages.ts"

/** A member of `ctx` or `api` that scripts can use: "ctx.v1.getUser()" and its type. */
export type Member = { readonly path: string; readonly type: string }

/** The shape of the values that scripts receive at a trigger; guest.ts creates them. */
export function shapeFor(flow: FlowType, trigger: Trigger): Shape {
  if (trigger === 1) return flow === 1 ? "external" : "authenticated"
  return ({ 2: "before", 3: "after", 4: "token", 5: "token", 6: "saml" } as const)[trigger]
}

const date = "creationDate: Date, changeDate: Date"
const human =
  "{ firstName, lastName, nickName, displayName, preferredLanguage, email, phone: string, " +
  "gender: number, isEmailVerified, isPhoneVerified: boolean }"
const user =
  `{ id, username, preferredLoginName, resourceOwner: string, state, sequence: number, ${date}, ` +
  `loginNames: string[], human?: ${human}, machine?: { name, description: string } }`
const listFields = "count, sequence: number, timestamp: Date"
const metadata = `{ ${listFields}, metadata: { key: string, value: any, resourceOwner: string }[] }`
const grants =
  `{ ${listFields}, grants: { id, projectId, projectName, projectGrantId: string, roles: ` +
  "string[], " +
  `state: number, userGrantResourceOwner, userGrantResourceOwnerName: string, ${date} }[] }`

const external = `{ externalId, externalIdpId, preferredUsername: string, human: ${human} }`

const request = {
  "ctx.v1.authRequest":
    "{ id, applicationId, callbackUri, loginHint, requestedOrgId: string, audience: string[], " +
    "userId, loginName, resourceOwner: string, authTime: Date, mfasVerified, prompt: number[], " +
    "uiLocales: string[], maxAuthAge?: number, transferState, agentId: string, " +
    "request: { oidc: { scopes: string[] } }, browserInfo: object } | undefined",
  "ctx.v1.httpRequest": "{ method, url, host, remoteAddr: string, headers: object }",
} as const

const append = {
  "api.metadata": "{ key: string, value: any }[]",
  "api.v1.user.appendMetadata(key: string, value: any)": "void",
} as const

const grant = "{ projectId: string, projectGrantId?: string, roles: string[] }"

const setterMembers = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [`api.set${name}(value: string)`, "void"]))

const profile = {
  ...setterMembers("FirstName", "LastName", "NickName", "DisplayName", "PreferredLanguage"),
  ...setterMembers("Email", "Phone"),
  "api.setEmailVerified(value: boolean)": "void",
  "api.setPhoneVerified(value: boolean)": "void",
}

const claims = ["claims", "userinfo"].map((name) => ({
  [`api.v1.${name}.setClaim(key: string, value: any)`]: "void",
  [`api.v1.${name}.appendLogIntoClaims(line: string)`]: "void",
}))

const userMembers = {
  "ctx.v1.getUser()": user,
  "ctx.v1.user.getMetadata()": metadata,
  "ctx.v1.user.grants": grants,
} as const

const membersByShape: Readonly<Record<Shape, Readonly<Record<string, string>>>> = {
  token: {
    ...userMembers,
    "ctx.v1.claims": "{ [key: string]: any }",
    "ctx.v1.actor": "object | undefined",
    "ctx.v1.org.getMetadata()": metadata,
    "ctx.v1.application.getClientId()": "string",
    ...Object.assign({}, ...claims),
    "api.v1.user.setMetadata(key: string, value: any)": "void",
  },
  saml: {
    ...userMembers,
    "api.v1.attributes.setCustomAttribute(name, format: string, ...values: string[])": "void",
    "api.v1.user.setMetadata(key: string, value: any)": "void",
  },
  external: {
    "ctx.accessToken": "string",
    "ctx.idToken": "string",
    "ctx.claimsJSON()": "string",
    "ctx.getClaim(key: string)": "any",
    "ctx.v1.externalUser()": external,
    "ctx.v1.providerInfo": "object",
    "ctx.v1.authError": "string",
    ...request,
    ...profile,
    ...setterMembers("PreferredUsername"),
    ...append,
  },
  authenticated: {
    "ctx.v1.getUser()": user,
    "ctx.v1.authMethod": '"password" | "OTP" | "U2F" | "passwordless"',
    "ctx.v1.authError": "string",
    ...request,
    ...append,
  },
  before: {
    "ctx.v1.user": user,
    ...request,
    ...profile,
    "api.setGender(value: number)": "void",
    ...setterMembers("Username"),
    ...append,
  },
  after: {
    "ctx.v1.getUser()": user,
    ...request,
    "api.userGrants": `${grant}[]`,
    [`api.v1.appendUserGrant(grant: ${grant})`]: "void",
  },
}

const log = "(...values: any[])"

/** The modules that `require` returns at every trigger. */
const modules = {
  'require("core/http").fetch(url: string, { method, headers, body })':
    "{ status: number, body: string, json(): any, text(): string }",
  [`require("core/log").log${log}`]: "void, and so are warn and error",
  'require("core/uuid").v4()': "string, as are v1, v3, v5 and v7",
} as const

/** The members of `ctx`, followed by those of `api` and the modules. */
export const membersOf = (shape: Shape): readonly Member[] =>
  Object.entries({ ...membersByShape[shape], ...modules })
    .map(([path, type]) => ({ path, type }))
    .toSorted((a, b) => orderOf(a) - orderOf(b))

const orderOf = ({ path }: Member) =>
  ["ctx.", "api.", "require"].findIndex((one) => path.startsWith(one))
