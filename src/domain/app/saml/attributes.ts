import { Fault } from "../../../kernel/fault.ts"

/** Names of the attributes that every assertion has: ours, those of LDAP, those of Microsoft. */
export type AttributeNames = "short" | "oid" | "microsoft"

/** SAML Core §2.7.3.1. */
export type AttributeFormat = "basic" | "uri" | "unspecified"

/** What of a user can be an attribute. */
export type SamlUserField =
  | "userId"
  | "userName"
  | "loginName"
  | "email"
  | "phone"
  | "firstName"
  | "lastName"
  | "displayName"
  | "nickName"
  | "preferredLanguage"
  | "organizationId"
  | "organizationName"

export type SamlMapping = {
  readonly name: string
  readonly format: AttributeFormat
  /** Metadata is the user's, by its key; a text is the same for everybody. */
  readonly source:
    | { readonly kind: "field"; readonly field: SamlUserField }
    | { readonly kind: "metadata"; readonly key: string }
    | { readonly kind: "text"; readonly text: string }
}

/** Which attributes the assertions for an application have. */
export type SamlAttributes = {
  readonly names: AttributeNames
  /** The attribute that has the user's roles of the project; empty: none has them. */
  readonly roles: string
  readonly mappings: readonly SamlMapping[]
}

/** As every application was before it could be chosen. */
export const usualAttributes: SamlAttributes = { names: "short", roles: "", mappings: [] }

const mappingsMax = 50
const nameMax = 300
const textMax = 1000

/** Refuses names and sources that no assertion can have, and two attributes of one name. */
export function checkAttributes({ roles, mappings }: SamlAttributes): void {
  const names = [...(roles === "" ? [] : [roles]), ...mappings.map(({ name }) => name)]
  if (!names.every(isName)) {
    throw refusedError(`name must have 1 to ${nameMax} characters, without spaces`)
  }
  if (mappings.length > mappingsMax) throw refusedError(`at most ${mappingsMax} can be mapped`)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw refusedError(`the attribute ${twice} is mapped twice`)
  for (const { source } of mappings) {
    const text =
      source.kind === "text" ? source.text : source.kind === "metadata" ? source.key : "-"
    if (text === "" || text.length > textMax) {
      throw refusedError(`metadata_key and text must have 1 to ${textMax} characters`)
    }
  }
}

const isName = (name: string): boolean =>
  name.length > 0 && name.length <= nameMax && /^[^\s\p{Cc}]+$/u.test(name)

const refusedError = (why: string) =>
  new Fault("invalid_argument", "app.saml_attributes_invalid", `attributes: ${why}`)
