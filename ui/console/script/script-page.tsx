import { durationMs } from "@bufbuild/protobuf/wkt"
import { useParams } from "@tanstack/react-router"
import { useState } from "react"
import type { Action } from "../../../src/gen/core/action/v1/action_pb.ts"
import { DiagnosisService } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import {
  ActivationButton,
  amountFromDuration,
  CodeArea,
  createControls,
  DeleteSection,
  durationFromAmount,
  type Form,
  FormFields,
  useForm,
  verbatim,
} from "../form/index.ts"
import { History, StateBadge } from "../list/index.ts"
import {
  call,
  ignoreError,
  Page,
  Section,
  t,
  useIsPermitted,
  useRead,
  useSelectOwner,
} from "../shell/index.ts"
import { MomentField, type MomentProps } from "./moment-field.tsx"
import { Runs } from "./runs.tsx"
import { isActive } from "./script.ts"
import { TestRun } from "./try-script.tsx"

const { getAction, updateAction, deleteAction } = ManagementService.method
const { deactivateAction, reactivateAction } = ManagementService.method

/** A script: its code, its parameters, a test run without changes, and the latest runs. */
export function ScriptPage() {
  const { scriptId: id } = useParams({ from: "/scripts/$scriptId" })
  const { action } = useRead(getAction, { id })
  const organizationId = action?.details?.resourceOwner ?? ""
  useSelectOwner(organizationId)
  return action ? <ScriptDetails action={action} organizationId={organizationId} /> : null
}

type ScriptDetailsProps = { readonly action: Action; readonly organizationId: string }

type ScriptValues = {
  readonly name: string
  readonly script: string
  readonly timeout: ReturnType<typeof amountFromDuration>
  readonly allowedToFail: boolean
}

function ScriptDetails({ action, organizationId }: ScriptDetailsProps) {
  const { id, name, script, timeout, allowedToFail } = action
  const { moments } = useRead(DiagnosisService.method.listScriptMoments)
  const [chosen, choose] = useState(moments.find(({ triggerType }) => triggerType === "4"))
  const [wrong, setWrong] = useState(0)
  const form = useForm<ScriptValues>({
    id: `script-${id}`,
    // No timeout is returned as an empty duration.
    initial: {
      name,
      script,
      allowedToFail,
      timeout: amountFromDuration(
        timeout && durationMs(timeout) > 0 ? timeout : undefined,
        "seconds",
      ),
    },
    authored: true,
    refusals: { name: ["action.name"], script: ["action.script"], timeout: ["action.timeout"] },
    save: (values) => {
      const wait = durationFromAmount(values.timeout)
      const request = { ...values, id, name: values.name.trim() }
      const update = { ...request, timeout: wait ?? { seconds: 0n, nanos: 0 } }
      return ignoreError("action.unchanged", call(updateAction, update))
    },
  })
  return (
    <Page
      title={name}
      crumbs={[{ label: t("nav.scripts"), link: { to: "/scripts" } }]}
      badge={<StateBadge isOn={isActive(action)} />}
      scope={{ organizationId }}
      actions={
        <>
          {chosen && (
            <TestRun
              organizationId={organizationId}
              moments={moments}
              moment={chosen}
              onChange={choose}
              onErrorLine={setWrong}
              script={form.values}
            />
          )}
          <ActivationButton
            on={reactivateAction}
            off={deactivateAction}
            of={{ id }}
            subject={name}
            isOn={isActive(action)}
            consequence={t("script.off")}
          />
        </>
      }
    >
      <ScriptEditor form={form} errorLine={wrong} onInput={() => setWrong(0)} />
      {chosen && <ScriptParameters moments={moments} moment={chosen} onChange={choose} />}
      <Runs organizationId={organizationId} actionId={id} />
      <History of={{ case: "actionId", value: id }} />
      <DeleteSection
        family="scripts"
        name={name}
        by={deleteAction}
        of={{ id }}
        to={{ to: "/scripts" }}
      />
    </Page>
  )
}

type ScriptEditorProps = {
  readonly form: Form<ScriptValues>
  readonly errorLine: number
  readonly onInput: () => void
}

function ScriptEditor({ form, errorLine: wrong, onInput: onTyped }: ScriptEditorProps) {
  const may = useIsPermitted()(updateAction)
  const { text, check, duration, contested, values } = createControls(form)
  const code = (
    <CodeArea
      label={t("script.code")}
      name="script"
      value={values.script}
      errorLine={wrong}
      readOnly={!may}
      error={form.errorOf("script")}
      onChange={(script) => {
        form.change({ script })
        onTyped()
      }}
    />
  )
  if (!may) return code
  return (
    <FormFields form={form} disabled={!form.dirty}>
      {contested("script", t("script.code"), code)}
      {text("name", t("field.name"), {
        ...verbatim,
        required: true,
        hint: t("script.name_hint"),
      })}
      {duration("timeout", t("script.timeout"), {
        fallback: defaultTimeoutSeconds,
        hint: t("script.timeout_hint"),
      })}
      {check("allowedToFail", t("script.may_fail"), t("script.may_fail_hint"))}
    </FormFields>
  )
}

/** The server's default timeout. */
const defaultTimeoutSeconds = "10"

/** The parameters of a script at a moment. */
function ScriptParameters(props: MomentProps) {
  return (
    <Section title={t("script.handed")}>
      <div className="form">
        <MomentField {...props} />
      </div>
      <ul className="members small">
        {props.moment.members.map(({ path, type }) => (
          <li key={path}>
            <code>
              <b>{path}</b>: {type}
            </code>
          </li>
        ))}
      </ul>
    </Section>
  )
}
