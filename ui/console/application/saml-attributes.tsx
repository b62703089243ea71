import {
  SAMLAttributeFormat as Format,
  type SAMLAttributeMapping,
  SAMLAttributeNames,
  type SAMLConfiguration,
  SAMLUserField,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { EditSection, formOf, namesIn } from "../form/index.ts"
import { call, Facts, t } from "../shell/index.ts"
import { type RequestedAttribute, requestedAttributes } from "./saml-requested-attributes.ts"
import type { ApplicationPart } from "./update-application.ts"

type SamlPart = ApplicationPart & { readonly saml: SAMLConfiguration }

/** What the assertions for an application say of its users. */
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

const names = {
  short: SAMLAttributeNames.SAML_ATTRIBUTE_NAMES_SHORT,
  oid: SAMLAttributeNames.SAML_ATTRIBUTE_NAMES_OID,
  microsoft: SAMLAttributeNames.SAML_ATTRIBUTE_NAMES_MICROSOFT,
} as const
type Names = keyof typeof names

const namesOf = ({ saml }: SamlPart): Names =>
  namesIn(names).find((each) => names[each] === saml.attributes?.names) ?? "short"

function AssertionFacts(part: SamlPart) {
  const { saml } = part
  const { rolesAttribute = "", mappings = [] } = saml.attributes ?? {}
  const none = <span className="quiet">{t("detail.none")}</span>
  const requested = requestedAttributes(saml.metadataXml).map(({ friendlyName, name }) =>
    friendlyName === "" ? name : friendlyName,
  )
  return (
    <Facts
      rows={[
        [t("saml.names"), t(`saml.names.${namesOf(part)}`)],
        [t("saml.roles"), rolesAttribute ? <code key="roles">{rolesAttribute}</code> : none],
        [t("saml.mappings"), mappings.length > 0 ? mappings.map(lineOf).join(" · ") : none],
        [t("saml.requested"), requested.join(", ")],
        [t("saml.enforce"), t(saml.enforceRequestedContext ? "policy.yes" : "policy.no")],
      ]}
    />
  )
}

const assertionForm = (part: SamlPart) =>
  formOf({
    initial: {
      names: namesOf(part),
      roles: part.saml.attributes?.rolesAttribute ?? "",
      mappings: (part.saml.attributes?.mappings ?? []).map(lineOf).join("\n"),
      enforce: part.saml.enforceRequestedContext,
    },
    lists: { mappings: { between: /\n/, join: "\n", keyOf: nameIn } },
    refusals: { mappings: ["app.saml_attributes_invalid"] },
    save: ({ roles, mappings, enforce, ...chosen }) => {
      const { applicationId, projectId, name } = part.application
      const attributes = {
        names: names[chosen.names],
        rolesAttribute: roles.trim(),
        mappings: mappings.split("\n").flatMap(mappingOf),
      }
      const value = { attributes, enforceRequestedContext: enforce }
      const applicationType = { case: "samlConfiguration", value } as const
      const wanted = { applicationId, projectId, name, applicationType }
      return call(ApplicationService.method.updateApplication, wanted)
    },
    fields: ({ area, change, check, choice, text, values }) => {
      const missing = proposed(requestedAttributes(part.saml.metadataXml), values)
      return [
        choice("names", t("saml.names"), {
          of: namesIn(names),
          words: (value) => t(`saml.names.${value}`),
        }),
        text("roles", t("saml.roles"), { optional: true, hint: t("saml.roles_hint") }),
        area("mappings", t("saml.mappings"), {
          rows: 4,
          spellCheck: false,
          optional: true,
          maxLength: 20_000,
          hint: t("saml.mappings_hint", { fields: namesIn(fields).join(", ") }),
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

const fields = {
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

const formats = {
  basic: Format.SAML_ATTRIBUTE_FORMAT_BASIC,
  uri: Format.SAML_ATTRIBUTE_FORMAT_URI,
  unspecified: Format.SAML_ATTRIBUTE_FORMAT_UNSPECIFIED,
} as const
type FormatName = keyof typeof formats

/** Where a line doesn't say it: a name with a colon is a URI. */
const formatFor = (name: string): FormatName => (name.includes(":") ? "uri" : "basic")

/** `uid = userName`, `badge = metadata badge`, `tier = "gold"`, and the format where it differs. */
function lineOf({ name, format, source }: SAMLAttributeMapping): string {
  const [known = "basic"] = namesIn(formats).filter((each) => formats[each] === format)
  const end = known === formatFor(name) ? "" : ` (${known})`
  return `${name} = ${sourceText(source)}${end}`
}

function sourceText(source: SAMLAttributeMapping["source"]): string {
  if (source.case === "metadataKey") return `metadata ${source.value}`
  if (source.case === "text") return `"${source.value}"`
  return namesIn(fields).find((each) => fields[each] === source.value) ?? ""
}

const nameIn = (line: string): string => line.split("=")[0]?.trim() ?? ""

/** What a line says; where that is no source, the server says what is missing. */
function mappingOf(line: string) {
  const [, name = "", rest = "", end] =
    /^\s*(\S+)\s*=\s*(.*?)\s*(?:\((basic|uri|unspecified)\))?\s*$/.exec(line) ?? []
  if (line.trim() === "") return []
  const format = namesIn(formats).find((each) => each === end) ?? formatFor(name)
  return [{ name: name || line.trim(), format: formats[format], source: sourceIn(rest) }]
}

function sourceIn(text: string) {
  const [, fixed] = /^"(.*)"$/.exec(text) ?? []
  if (fixed !== undefined) return { case: "text", value: fixed } as const
  const [, key] = /^metadata\s+(.+)$/.exec(text) ?? []
  if (key !== undefined) return { case: "metadataKey", value: key } as const
  const field = namesIn(fields).find((each) => each === text)
  return field === undefined
    ? ({ case: undefined } as const)
    : ({ case: "userField", value: fields[field] } as const)
}

type WithMappings = { readonly mappings: string }

/** Lines for what the metadata requests and no line tells yet, where a field fits by its name. */
const proposed = (requested: readonly RequestedAttribute[], { mappings }: WithMappings) => {
  const told = mappings.split("\n").map(nameIn)
  return requested.flatMap(({ name, field, format }) => {
    if (field === undefined || told.includes(name)) return []
    const end = format === undefined || format === formatFor(name) ? "" : ` (${format})`
    return [`${name} = ${field}${end}`]
  })
}
