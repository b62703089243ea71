import type { APIScope } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { defineForm, EditSection } from "../form/index.ts"
import { Facts, t } from "../shell/index.ts"
import { updateApi } from "./api.tsx"
import type { ApiPart } from "./update-application.ts"

/** Scopes of an API besides the standard ones, with names for users. */
export function ApiScopes({ application, api }: ApiPart) {
  const { scopes = [] } = api.scopes ?? {}
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("scopes.title")}
      facts={
        scopes.length > 0 ? (
          <Facts rows={scopes.map((one) => [one.scope, renderScope(one)] as const)} />
        ) : (
          <p className="quiet section-lead">{t("scopes.none")}</p>
        )
      }
      form={defineForm({
        initial: { scopes: scopes.map(formatScope).join("\n") },
        lists: { scopes: { separator: /\n/, join: "\n", keyOf: (line) => parseScope(line).scope } },
        refusals: { scopes: ["app.scopes_invalid"] },
        save: (values) => {
          const lines = values.scopes.split("\n").filter((line) => line.trim() !== "")
          const { authMethodType } = api
          const updatedScopes = lines.map((line) => findUnchanged(scopes, line) ?? parseScope(line))
          return updateApi(application, { authMethodType, scopes: { scopes: updatedScopes } })
        },
        fields: ({ area }) =>
          area("scopes", t("scopes.lines"), {
            rows: 5,
            spellCheck: false,
            maxLength: 30_000,
            optional: true,
            hint: t("scopes.hint"),
          }),
      })}
    />
  )
}

type ScopeInput = Pick<APIScope, "scope" | "name" | "description">

const renderScope = ({ name, description }: ScopeInput) => (
  <>
    {name || <span className="quiet">{t("scopes.no_name")}</span>}
    {description && <p className="quiet">{description}</p>}
  </>
)

/** `read:orders = Read orders | Also those of past years`. */
function formatScope({ scope, name, description }: ScopeInput): string {
  const texts = [name, description].filter((text, at) => at === 0 || text !== "").join(" | ")
  return texts === "" ? scope : `${scope} = ${texts}`
}

/** The stored scope if its line is unchanged, because its name can contain the separator. */
const findUnchanged = (scopes: readonly ScopeInput[], line: string): ScopeInput | undefined =>
  scopes.find((one) => formatScope(one).trim() === line.trim())

/** Parses a line; the server rejects invalid scopes. */
function parseScope(line: string): ScopeInput {
  const [, scope = line.trim(), texts = ""] = /^\s*(\S+)(?:\s+=(?:\s+(.*))?)?\s*$/.exec(line) ?? []
  const [name = "", ...description] = texts.split("|")
  return { scope, name: name.trim(), description: description.join("|").trim() }
}
