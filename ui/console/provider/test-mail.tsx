import { useState } from "react"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { EmailProviderSMTP } from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { TextField } from "../../kit/index.ts"
import { DialogOpener, FormFields, formId, useForm } from "../form/index.ts"
import { call, refusalOf, t, useSession } from "../shell/index.ts"
import { parseCause, parseStep, type StepName, stepsBefore } from "./smtp.ts"

type TestMailProps = {
  readonly id: string
  readonly name: string
  readonly smtp: EmailProviderSMTP
}

/** Sends an email with stored settings and shows the steps it passed. */
export function TestMail(props: TestMailProps) {
  const label = t("providers.test")
  return (
    <DialogOpener
      needs={AdminService.method.testEmailProviderSMTPById}
      label={label}
      name={props.name}
      title={`${label}: ${props.name}`}
    >
      {(close) => <TestMailDialog {...props} close={close} />}
    </DialogOpener>
  )
}

type DeliveryStep = { readonly name: StepName; readonly detail: string }

/** The steps of an email; `failed` is the one that failed. */
type MailProgress = { readonly passed: readonly DeliveryStep[]; readonly failed?: FailedStep }

/** The failed step, with a heading that names the cause. */
type FailedStep = DeliveryStep & { readonly heading: string }

function TestMailDialog({ id, smtp, close }: TestMailProps & { readonly close: () => void }) {
  const session = useSession()
  const own = session.status === "signed-in" ? session.person.loginName : ""
  const [progress, setWay] = useState<MailProgress | undefined>(undefined)
  const form = useForm({
    id: formId("test_mail", id),
    initial: { receiverAddress: own.includes("@") ? own : "" },
    save: async ({ receiverAddress }) => {
      setWay(undefined)
      setWay(await sendTestMail(smtp, { id, receiverAddress: receiverAddress.trim() }))
    },
  })
  return (
    <div className="stack">
      <FormFields form={form} submit={t("providers.test_send")} onCancel={close}>
        <TextField
          label={t("providers.test_to")}
          hint={t("providers.test_hint")}
          type="email"
          {...form.text("receiverAddress")}
          required
          autoFocus
        />
      </FormFields>
      {progress && <DeliverySteps way={progress} />}
    </div>
  )
}

async function sendTestMail(
  smtp: EmailProviderSMTP,
  input: { readonly id: string; readonly receiverAddress: string },
): Promise<MailProgress> {
  try {
    const { steps } = await call(AdminService.method.testEmailProviderSMTPById, input)
    const passed = steps.flatMap(({ name, detail }) => {
      const step = parseStep(name)
      return step ? [{ name: step, detail }] : []
    })
    return { passed }
  } catch (failure) {
    const { id, condition, conditions = [] } = refusalOf(failure)
    const name = parseStep(condition?.type ?? "")
    if (id !== "message_provider.test_failed" || !condition || !name) throw failure
    const passed = stepsBefore(name, smtp).map((step) => ({ name: step, detail: "" }))
    const cause = conditions.map(({ type }) => parseCause(type)).find((each) => each !== undefined)
    const host = condition.subject
    const heading = cause ? t(`providers.cause.${cause}`, { host }) : t(`providers.failed.${name}`)
    return { passed, failed: { name, heading, detail: condition.description } }
  }
}

function DeliverySteps({ way: { passed, failed } }: { readonly way: MailProgress }) {
  return (
    <ol className="steps" role="status">
      {passed.map(({ name, detail }) => (
        <li className="step step-done" key={name}>
          <span className="step-mark" aria-hidden="true">
            ✓
          </span>
          <span>
            {t(`providers.step.${name}`)}
            {detail && <span className="quiet small step-hint">{detail}</span>}
          </span>
        </li>
      ))}
      {failed && (
        <li className="step step-failed">
          <span className="step-mark" aria-hidden="true">
            ✕
          </span>
          <span>
            <strong>{failed.heading}</strong>
            <span className="small step-hint">{failed.detail}</span>
            <span className="quiet small step-hint">{t(`providers.remedy.${failed.name}`)}</span>
          </span>
        </li>
      )}
    </ol>
  )
}
