import { DiagnosisService } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Check, TextField } from "../../kit/index.ts"
import { FormFields, useForm } from "../form/index.ts"
import { call, Section, t, useIsPermitted } from "../shell/index.ts"
import { scopeOf } from "./protocol.ts"
import type { ApplicationPart } from "./update-application.ts"

type TestSignInProps = ApplicationPart & {
  /** The endpoint that starts the sign-in, and the parameter that identifies the application. */
  readonly endpoint: string
  readonly parameter: "client_id" | "providerId"
}

/** SAML has no scopes, so the field is hidden. */
const defaultScope = ({ configuration }: ApplicationPart["application"]) =>
  configuration.case === "oidcConfiguration" ? scopeOf(configuration.value) : ""

/** Starts a sign-in like the application's users; the server shows the result. */
export function TestSignIn({ application, endpoint, parameter }: TestSignInProps) {
  const may = useIsPermitted()
  const { applicationId } = application
  const isSaml = parameter === "providerId"
  const form = useForm({
    id: "test-sign-in",
    initial: { scope: defaultScope(application), chooseAccount: false },
    refusals: { scope: ["app.test_scope"] },
    save: (values) => call(DiagnosisService.method.startTestSignIn, { applicationId, ...values }),
    done: ({ clientId, requestUri }) => {
      const query = new URLSearchParams({ [parameter]: clientId, request_uri: requestUri })
      location.assign(`${endpoint}?${query}`)
    },
  })
  if (!may(DiagnosisService.method.startTestSignIn)) return null
  return (
    <Section title={t("test.title")}>
      <p className="quiet section-lead">{t(isSaml ? "test.lead_saml" : "test.lead")}</p>
      <FormFields form={form} submit={t("test.submit")}>
        {!isSaml && (
          <TextField
            label={t("test.scope")}
            hint={t("test.scope_hint")}
            {...form.text("scope")}
            maxLength={2000}
            spellCheck={false}
          />
        )}
        <Check
          label={t("test.choose")}
          hint={t("test.choose_hint")}
          checked={form.values.chooseAccount}
          onChange={(chooseAccount) => form.change({ chooseAccount })}
        />
      </FormFields>
    </Section>
  )
}
