import {
  SAMLAttributeFormat as Format,
  type SAMLAttributeMapping,
  SAMLAttributeNames,
  type SAMLConfiguration,
  SAMLUserField,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { defineForm, EditSection, namesIn } from "../form/index.ts"
import { call, Facts, t } from "../shell/index.ts"
import { parseRequestedAttributes, type RequestedAttribute } from "./saml-requested-attributes.ts"
import type { ApplicationPart } from "./update-application.ts"

type SamlPart = ApplicationPart & { readonly saml: SAMLConfiguration }

/** The attributes in assertions for an application. */
export function SamlAssertions(part: SamlPart) {
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("saml.assertions")}
      facts={<AssertionFacts {...part} />}
      form={assertionForm(part)}
    />
  )
}

const nameStyles = {
  short: SAMLAttributeNames.SAML_ATTRIBUTE_NAMES_SHORT,
  oid: SAMLAttributeNames.SAML_ATTRIBUTE_NAMES_OID,
  microsoft: SAMLAttributeNames.SAML_ATTRIBUTE_NAMES_MICROSOFT,
} as const
type NameStyle = keyof typeof nameStyles

const nameStyleOf = ({ saml }: SamlPart): NameStyle =>
  namesIn(nameStyles).find((each) => nameStyles[each] === saml.attributes?.names) ?? "short"

function AssertionFacts(part: SamlPart) {
  const { saml } = part
  const { rolesAttribute = "", mappings = [] } = saml.attributes ?? {}
  const none = <span className="quiet">{t("detail.none")}</span>
  const requested = parseRequestedAttributes(saml.metadataXml).map(({ friendlyName, name }) =>
    friendlyName === "" ? name : friendlyName,
  )
  return (
    <Facts
      rows={[
        [t("saml.names"), t(`saml.names.${nameStyleOf(part)}`)],
        [t("saml.roles"), rolesAttribute ? <code key="roles">{rolesAttribute}</code> : none],
        [t("saml.mappings"), mappings.length > 0 ? mappings.map(formatMapping).join(" · ") : none],
        [t("saml.requested"), requested.join(", ")],
        [t("saml.enforce"), t(saml.enforceRequestedContext ? "policy.yes" : "policy.no")],
      ]}
    />
  )
}

const assertionForm = (part: SamlPart) =>
  defineForm({
    initial: {
      names: nameStyleOf(part),
      roles: part.saml.attributes?.rolesAttribute ?? "",
      mappings: (part.saml.attributes?.mappings ?? []).map(formatMapping).join("\n"),
      enforce: part.saml.enforceRequestedContext,
    },
    lists: { mappings: { separator: /\n/, join: "\n", keyOf: nameOfLine } },
    refusals: { mappings: ["app.saml_attributes_invalid"] },
    save: ({ roles, mappings, enforce, ...chosen }) => {
      const { applicationId, projectId, name } = part.application
      const attributes = {
        names: nameStyles[chosen.names],
        rolesAttribute: roles.trim(),
        mappings: mappings.split("\n").flatMap(parseMapping),
      }
      const value = { attributes, enforceRequestedContext: enforce }
      const applicationType = { case: "samlConfiguration", value } as const
      const request = { applicationId, projectId, name, applicationType }
      return call(ApplicationService.method.updateApplication, request)
    },
    fields: ({ area, change, check, choice, text, values }) => {
      const missing = proposeLines(parseRequestedAttributes(part.saml.metadataXml), values)
      return [
        choice("names", t("saml.names"), {
          of: namesIn(nameStyles),
          label: (value) => t(`saml.names.${value}`),
        }),
        text("roles", t("saml.roles"), { optional: true, hint: t("saml.roles_hint") }),
        area("mappings", t("saml.mappings"), {
          rows: 4,
          spellCheck: false,
          optional: true,
          maxLength: 20_000,
          hint: t("saml.mappings_hint", { fields: namesIn(userFields).join(", ") }),
        }),
        missing.length > 0 && (
          <Button
            key="propose"
            onClick={() =>
              change({ mappings: [values.mappings, ...missing].filter(Boolean).join("\n") })
            }
          >
            {t("saml.propose")}
          </Button>
        ),
        check("enforce", t("saml.enforce"), t("saml.enforce_hint")),
      ]
    },
  })

const userFields = {
  userId: SAMLUserField.SAML_USER_FIELD_USER_ID,
  userName: SAMLUserField.SAML_USER_FIELD_USER_NAME,
  loginName: SAMLUserField.SAML_USER_FIELD_LOGIN_NAME,
  email: SAMLUserField.SAML_USER_FIELD_EMAIL,
  phone: SAMLUserField.SAML_USER_FIELD_PHONE,
  firstName: SAMLUserField.SAML_USER_FIELD_FIRST_NAME,
  lastName: SAMLUserField.SAML_USER_FIELD_LAST_NAME,
  displayName: SAMLUserField.SAML_USER_FIELD_DISPLAY_NAME,
  nickName: SAMLUserField.SAML_USER_FIELD_NICK_NAME,
  preferredLanguage: SAMLUserField.SAML_USER_FIELD_PREFERRED_LANGUAGE,
  organizationId: SAMLUserField.SAML_USER_FIELD_ORGANIZATION_ID,
  organizationName: SAMLUserField.SAML_USER_FIELD_ORGANIZATION_NAME,
} as const

const nameFormats = {
  basic: Format.SAML_ATTRIBUTE_FORMAT_BASIC,
  uri: Format.SAML_ATTRIBUTE_FORMAT_URI,
  unspecified: Format.SAML_ATTRIBUTE_FORMAT_UNSPECIFIED,
} as const
type FormatName = keyof typeof nameFormats

/** The format of a line without one: a name with a colon is a URI. */
const defaultFormat = (name: string): FormatName => (name.includes(":") ? "uri" : "basic")

/**
 * The line format of a mapping: `uid = userName`, `badge = metadata badge` or `tier = "gold"`, with
 * the format if it isn't the default.
 */
function formatMapping({ name, format, source }: SAMLAttributeMapping): string {
  const [formatName = "basic"] = namesIn(nameFormats).filter((each) => nameFormats[each] === format)
  const end = formatName === defaultFormat(name) ? "" : ` (${formatName})`
  return `${name} = ${formatSource(source)}${end}`
}

function formatSource(source: SAMLAttributeMapping["source"]): string {
  if (source.case === "metadataKey") return `metadata ${source.value}`
  if (source.case === "text") return `"${source.value}"`
  return namesIn(userFields).find((each) => userFields[each] === source.value) ?? ""
}

const nameOfLine = (line: string): string => line.split("=")[0]?.trim() ?? ""

/** Parses a line; the server rejects an incomplete source. */
function parseMapping(line: string) {
  const [, name = "", rest = "", end] =
    /^\s*(\S+)\s*=\s*(.*?)\s*(?:\((basic|uri|unspecified)\))?\s*$/.exec(line) ?? []
  if (line.trim() === "") return []
  const format = namesIn(nameFormats).find((each) => each === end) ?? defaultFormat(name)
  return [{ name: name || line.trim(), format: nameFormats[format], source: parseSource(rest) }]
}

function parseSource(text: string) {
  const [, fixed] = /^"(.*)"$/.exec(text) ?? []
  if (fixed !== undefined) return { case: "text", value: fixed } as const
  const [, key] = /^metadata\s+(.+)$/.exec(text) ?? []
  if (key !== undefined) return { case: "metadataKey", value: key } as const
  const field = namesIn(userFields).find((each) => each === text)
  return field === undefined
    ? ({ case: undefined } as const)
    : ({ case: "userField", value: userFields[field] } as const)
}

type WithMappings = { readonly mappings: string }

/** Lines for requested attributes without a mapping, if a user field matches by name. */
const proposeLines = (requested: readonly RequestedAttribute[], { mappings }: WithMappings) => {
  const mappedNames = mappings.split("\n").map(nameOfLine)
  return requested.flatMap(({ name, field, format }) => {
    if (field === undefined || mappedNames.includes(name)) return []
    const end = format === undefined || format === defaultFormat(name) ? "" : ` (${format})`
    return [`${name} = ${field}${end}`]
  })
}
