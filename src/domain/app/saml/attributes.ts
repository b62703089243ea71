import { Fault } from "../../../kernel/fault.ts"

/** The attribute names of every assertion: short names, the OIDs of LDAP, or those of Microsoft. */
export type AttributeNames = "short" | "oid" | "microsoft"

/** SAML Core §2.7.3.1: the NameFormat of an attribute. */
export type AttributeFormat = "basic" | "uri" | "unspecified"

/** The user fields that can be mapped to attributes. */
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
  /** Metadata of the user, by its key; a text is the same for all users. */
  readonly source:
    | { readonly kind: "field"; readonly field: SamlUserField }
    | { readonly kind: "metadata"; readonly key: string }
    | { readonly kind: "text"; readonly text: string }
}

/** The attributes of the assertions for an application. */
export type SamlAttributes = {
  readonly names: AttributeNames
  /**
   * The attribute that contains the user's roles on the project; empty if assertions contain no
   * roles.
   */
  readonly roles: string
  readonly mappings: readonly SamlMapping[]
}

/** The attributes of all applications from before they could be configured. */
export const defaultAttributes: SamlAttributes = { names: "short", roles: "", mappings: [] }

const mappingsMax = 50
const nameMax = 300
const textMax = 1000

/** Rejects names and sources that no assertion can have, and duplicate names. */
export function validateAttributes({ roles, mappings }: SamlAttributes): void {
  const names = [...(roles === "" ? [] : [roles]), ...mappings.map(({ name }) => name)]
  if (!names.every(isName)) {
    throw invalidAttributesError(`name must have 1 to ${nameMax} characters, without spaces`)
  }
  if (mappings.length > mappingsMax)
    throw invalidAttributesError(`at most ${mappingsMax} mappings are allowed`)
  const duplicate = names.find((name, at) => names.indexOf(name) !== at)
  if (duplicate !== undefined)
    throw invalidAttributesError(`the name ${duplicate} is used by two mappings`)
  for (const { source } of mappings) {
    const text =
      source.kind === "text" ? source.text : source.kind === "metadata" ? source.key : "-"
    if (text === "" || text.length > textMax) {
      throw invalidAttributesError(`metadata_key and text must have 1 to ${textMax} characters`)
    }
  }
}

const isName = (name: string): boolean =>
  name.length > 0 && name.length <= nameMax && /^[^\s\p{Cc}]+$/u.test(name)

const invalidAttributesError = (reason: string) =>
  new Fault("invalid_argument", "app.saml_attributes_invalid", `attributes: ${reason}`)
