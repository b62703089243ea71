import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { EditSection } from "../form/form.tsx"
import { linesOf } from "../form/lines.ts"
import { formOf } from "../form/made.tsx"
import { call } from "../shell/call.ts"
import { ValueList } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import type { ApiPart } from "./change.ts"

const { updateApplication } = ApplicationService.method

/** What clients call an API by, so that a token is for it and for nothing else (RFC 8707). */
export function ApiResources({ application, api }: ApiPart) {
  const { t } = useText()
  const { applicationId, projectId, name } = application
  const { uris = [] } = api.resources ?? {}
  return (
    <EditSection
      needs={updateApplication}
      title={t("resources.title")}
      facts={
        uris.length > 0 ? (
          <ValueList code values={uris} />
        ) : (
          <p className="quiet section-lead">{t("resources.none")}</p>
        )
      }
      form={formOf({
        initial: { uris: uris.join("\n") },
        refusals: { uris: ["app.resources_invalid", "app.resource_taken"] },
        save: (values) => {
          const value = {
            authMethodType: api.authMethodType,
            resources: { uris: linesOf(values.uris) },
          }
          const applicationType = { case: "apiConfiguration", value } as const
          return call(updateApplication, { applicationId, projectId, name, applicationType })
        },
        fields: ({ area }) =>
          area("uris", t("resources.uris"), {
            ...{ rows: 3, spellCheck: false, maxLength: 20_000, optional: true },
            hint: t("resources.hint"),
          }),
      })}
    />
  )
}
