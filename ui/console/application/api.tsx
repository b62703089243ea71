import type { MessageInitShape } from "@bufbuild/protobuf"
import {
  APIAuthMethodType,
  type APIConfiguration,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type UpdateAPIApplicationConfigurationRequestSchema,
} from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { EditSection, formOf, lineList, linesOf } from "../form/index.ts"
import { call, t, ValueList } from "../shell/index.ts"
import type { ApiPart } from "./update-application.ts"

const { updateApplication } = ApplicationService.method

const methods = {
  basic: APIAuthMethodType.API_AUTH_METHOD_TYPE_BASIC,
  private_key_jwt: APIAuthMethodType.API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT,
} as const
type Method = keyof typeof methods
const methodNames: readonly Method[] = ["basic", "private_key_jwt"]

export const methodOf = ({ authMethodType }: APIConfiguration): Method =>
  methodNames.find((name) => methods[name] === authMethodType) ?? "basic"

type ApiChange = MessageInitShape<typeof UpdateAPIApplicationConfigurationRequestSchema>

/** Changes what is given; resources that are left out stay as they are. */
export function changeApi(
  { applicationId, projectId, name }: ApiPart["application"],
  value: ApiChange,
) {
  const applicationType = { case: "apiConfiguration", value } as const
  return call(updateApplication, { applicationId, projectId, name, applicationType })
}

/** How an API proves who it is when it asks about tokens. */
export function ApiProof({ application, api }: ApiPart) {
  return (
    <EditSection
      needs={updateApplication}
      title={t("flows.auth")}
      facts={<p>{t(`auth.${methodOf(api)}`)}</p>}
      form={formOf({
        initial: { method: methodOf(api) },
        save: ({ method }) => changeApi(application, { authMethodType: methods[method] }),
        fields: ({ choice }) =>
          choice("method", t("flows.auth"), {
            of: methodNames,
            words: (one) => t(`auth.${one}`),
            hints: (one) => t(`auth.${one}.hint`),
          }),
      })}
    />
  )
}

/** What clients call an API by, so that a token is for it and for nothing else (RFC 8707). */
export function ApiResources({ application, api }: ApiPart) {
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
        lists: { uris: lineList },
        refusals: { uris: ["app.resources_invalid", "app.resource_taken"] },
        save: (values) => {
          const { authMethodType } = api
          return changeApi(application, {
            authMethodType,
            resources: { uris: linesOf(values.uris) },
          })
        },
        fields: ({ area }) =>
          area("uris", t("resources.uris"), {
            rows: 3,
            spellCheck: false,
            maxLength: 20_000,
            optional: true,
            hint: t("resources.hint"),
          }),
      })}
    />
  )
}
