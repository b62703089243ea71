import type { MessageInitShape } from "@bufbuild/protobuf"
import {
  APIAuthMethodType,
  type APIConfiguration,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type UpdateAPIApplicationConfigurationRequestSchema,
} from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { defineForm, EditSection, lineList, linesOf } from "../form/index.ts"
import { call, t, ValueList } from "../shell/index.ts"
import type { ApiPart } from "./update-application.ts"

const { updateApplication } = ApplicationService.method

const authMethods = {
  basic: APIAuthMethodType.API_AUTH_METHOD_TYPE_BASIC,
  private_key_jwt: APIAuthMethodType.API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT,
} as const
type Method = keyof typeof authMethods
const methodNames: readonly Method[] = ["basic", "private_key_jwt"]

export const methodOf = ({ authMethodType }: APIConfiguration): Method =>
  methodNames.find((name) => authMethods[name] === authMethodType) ?? "basic"

type ApiChange = MessageInitShape<typeof UpdateAPIApplicationConfigurationRequestSchema>

/** Updates an API application; omitted resources are kept. */
export function updateApi(
  { applicationId, projectId, name }: ApiPart["application"],
  value: ApiChange,
) {
  const applicationType = { case: "apiConfiguration", value } as const
  return call(updateApplication, { applicationId, projectId, name, applicationType })
}

/** How an API authenticates to the introspection endpoint. */
export function ApiAuthentication({ application, api }: ApiPart) {
  return (
    <EditSection
      needs={updateApplication}
      title={t("flows.auth")}
      facts={<p>{t(`auth.${methodOf(api)}`)}</p>}
      form={defineForm({
        initial: { method: methodOf(api) },
        save: ({ method }) => updateApi(application, { authMethodType: authMethods[method] }),
        fields: ({ choice }) =>
          choice("method", t("flows.auth"), {
            of: methodNames,
            label: (one) => t(`auth.${one}`),
            hints: (one) => t(`auth.${one}.hint`),
          }),
      })}
    />
  )
}

/** Resource identifiers that clients request tokens for (RFC 8707). */
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
      form={defineForm({
        initial: { uris: uris.join("\n") },
        lists: { uris: lineList },
        refusals: { uris: ["app.resources_invalid", "app.resource_taken"] },
        save: (values) => {
          const { authMethodType } = api
          return updateApi(application, {
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
