import { useState } from "react"
import {
  APIAuthMethodType,
  type APIConfiguration,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { Choice } from "../../kit/choice.tsx"
import { ActionForm, EditSection, useSaving } from "../form.tsx"
import { useHouse } from "../house.ts"
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
  const { t } = useHouse()
  return (
    <EditSection
      title={t("flows.auth")}
      facts={<p>{t(`auth.${methodOf(part.api)}`)}</p>}
      form={(close) => <ProofForm {...part} close={close} />}
    />
  )
}

function ProofForm({
  application,
  api,
  onChanged,
  close,
}: ApiProofProps & { readonly close: () => void }) {
  const { t, core } = useHouse()
  const { applicationId, projectId, name } = application
  const [method, setMethod] = useState(methodOf(api))
  const save = () => {
    const value = { authMethodType: methods[method] }
    const applicationType = { case: "apiConfiguration", value } as const
    return core.applications.updateApplication({ applicationId, projectId, name, applicationType })
  }
  const action = useSaving(save, onChanged, close)
  return (
    <ActionForm action={action} onCancel={close}>
      <Choice
        legend={t("flows.auth")}
        name="auth"
        options={methodNames.map((value) => ({
          value,
          label: t(`auth.${value}`),
          hint: t(`auth.${value}.hint`),
        }))}
        value={method}
        onChange={setMethod}
      />
    </ActionForm>
  )
}
