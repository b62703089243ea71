import {
  APIAuthMethodType,
  type APIConfiguration,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { EditSection } from "../form/form.tsx"
import { formOf } from "../form/made.tsx"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"
import type { ApiPart } from "./change.ts"

const { updateApplication } = ApplicationService.method

const methods = {
  basic: APIAuthMethodType.API_AUTH_METHOD_TYPE_BASIC,
  private_key_jwt: APIAuthMethodType.API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT,
} as const
type Method = keyof typeof methods
const methodNames: readonly Method[] = ["basic", "private_key_jwt"]

export const methodOf = ({ authMethodType }: APIConfiguration): Method =>
  methodNames.find((name) => methods[name] === authMethodType) ?? "basic"

/** How an API proves who it is when it asks about tokens. */
export function ApiProof({ application, api }: ApiPart) {
  const { t } = useText()
  const { applicationId, projectId, name } = application
  return (
    <EditSection
      needs={updateApplication}
      title={t("flows.auth")}
      facts={<p>{t(`auth.${methodOf(api)}`)}</p>}
      form={formOf({
        initial: { method: methodOf(api) },
        save: ({ method }) => {
          const value = { authMethodType: methods[method] }
          const applicationType = { case: "apiConfiguration", value } as const
          return call(updateApplication, { applicationId, projectId, name, applicationType })
        },
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
