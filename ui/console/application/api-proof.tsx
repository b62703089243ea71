import {
  APIAuthMethodType,
  type APIConfiguration,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Choice } from "../../kit/choice.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"
import type { ApplicationPart } from "./change.ts"

const methods = {
  basic: APIAuthMethodType.API_AUTH_METHOD_TYPE_BASIC,
  private_key_jwt: APIAuthMethodType.API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT,
} as const
type Method = keyof typeof methods
const methodNames: readonly Method[] = ["basic", "private_key_jwt"]

export const methodOf = ({ authMethodType }: APIConfiguration): Method =>
  methodNames.find((name) => methods[name] === authMethodType) ?? "basic"

type ApiProofProps = ApplicationPart & { readonly api: APIConfiguration }

/** How an API proves who it is when it asks about tokens. */
export function ApiProof(part: ApiProofProps) {
  const { t } = useText()
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("flows.auth")}
      facts={<p>{t(`auth.${methodOf(part.api)}`)}</p>}
      form={(id, close) => <ProofForm {...part} {...{ id, close }} />}
    />
  )
}

type FormProps = ApiProofProps & { readonly id: string; readonly close: () => void }

function ProofForm({ application, api, id, close }: FormProps) {
  const { t } = useText()
  const { applicationId, projectId, name } = application
  const form = useForm({
    id,
    initial: { method: methodOf(api) },
    save: ({ method }) => {
      const value = { authMethodType: methods[method] }
      const applicationType = { case: "apiConfiguration", value } as const
      const wanted = { applicationId, projectId, name, applicationType }
      return call(ApplicationService.method.updateApplication, wanted)
    },
    done: close,
  })
  return (
    <Fields form={form} onCancel={close}>
      <Choice
        legend={t("flows.auth")}
        name="auth"
        options={methodNames.map((value) => ({
          value,
          label: t(`auth.${value}`),
          hint: t(`auth.${value}.hint`),
        }))}
        value={form.values.method}
        onChange={(method) => form.change({ method })}
      />
    </Fields>
  )
}
