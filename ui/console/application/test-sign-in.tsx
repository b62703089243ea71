import { DiagnosisService } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Check, TextField } from "../../kit/index.ts"
import { Fields, useForm } from "../form/index.ts"
import { call, Section, t, useMay } from "../shell/index.ts"
import { scopeOf } from "./protocol.ts"
import type { ApplicationPart } from "./update-application.ts"

type TestProps = ApplicationPart & {
  /** The address that begins it, and what it calls the application. */
  readonly endpoint: string
  readonly naming: "client_id" | "providerId"
}

/** SAML has no scopes; the field is not shown there. */
const scopeFor = ({ configuration }: ApplicationPart["application"]) =>
  configuration.case === "oidcConfiguration" ? scopeOf(configuration.value) : ""

/** Leaves for the sign-in as the application's people do; the result is a page of the server. */
export function TestSignIn({ application, endpoint, naming }: TestProps) {
  const may = useMay()
  const { applicationId } = application
  const isSaml = naming === "providerId"
  const form = useForm({
    id: "test-sign-in",
    initial: { scope: scopeFor(application), chooseAccount: false },
    refusals: { scope: ["app.test_scope"] },
    save: (wanted) => call(DiagnosisService.method.startTestSignIn, { applicationId, ...wanted }),
    done: ({ clientId, requestUri }) => {
      const query = new URLSearchParams({ [naming]: clientId, request_uri: requestUri })
      location.assign(`${endpoint}?${query}`)
    },
  })
  if (!may(DiagnosisService.method.startTestSignIn)) return null
  return (
    <Section title={t("test.title")}>
      <p className="quiet section-lead">{t(isSaml ? "test.lead_saml" : "test.lead")}</p>
      <Fields form={form} submit={t("test.submit")}>
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
      </Fields>
    </Section>
  )
}
