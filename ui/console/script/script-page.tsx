import { durationMs } from "@bufbuild/protobuf/wkt"
import { useParams } from "@tanstack/react-router"
import { useState } from "react"
import type { Action } from "../../../src/gen/core/action/v1/action_pb.ts"
import { DiagnosisService } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import {
  ActivationButton,
  amountOf,
  CodeArea,
  controlsOf,
  DeleteSection,
  durationOf,
  Fields,
  type Form,
  useForm,
  verbatim,
} from "../form/index.ts"
import { History, StateBadge } from "../list/index.ts"
import { call, Page, Section, t, unless, useBelongsTo, useMay, useRead } from "../shell/index.ts"
import { MomentField, type MomentProps } from "./moment-field.tsx"
import { Runs } from "./runs.tsx"
import { isActive } from "./script.ts"
import { Trial } from "./try-script.tsx"

const { getAction, updateAction, deleteAction } = ManagementService.method
const { deactivateAction, reactivateAction } = ManagementService.method

/** One script: what it says, what it is handed, a run that changes nothing, and the real ones. */
export function ScriptPage() {
  const { scriptId: id } = useParams({ from: "/scripts/$scriptId" })
  const { action } = useRead(getAction, { id })
  const organizationId = action?.details?.resourceOwner ?? ""
  useBelongsTo(organizationId)
  return action ? <Inside action={action} organizationId={organizationId} /> : null
}

type InsideProps = { readonly action: Action; readonly organizationId: string }

type Values = {
  readonly name: string
  readonly script: string
  readonly timeout: ReturnType<typeof amountOf>
  readonly allowedToFail: boolean
}

function Inside({ action, organizationId }: InsideProps) {
  const { id, name, script, timeout, allowedToFail } = action
  const { moments } = useRead(DiagnosisService.method.listScriptMoments)
  const [chosen, choose] = useState(moments.find(({ triggerType }) => triggerType === "4"))
  const [wrong, setWrong] = useState(0)
  const form = useForm<Values>({
    id: `script-${id}`,
    // None is said as no time at all.
    initial: {
      name,
      script,
      allowedToFail,
      timeout: amountOf(timeout && durationMs(timeout) > 0 ? timeout : undefined, "seconds"),
    },
    authored: true,
    refusals: { name: ["action.name"], script: ["action.script"], timeout: ["action.timeout"] },
    save: (values) => {
      const wait = durationOf(values.timeout)
      const wanted = { ...values, id, name: values.name.trim() }
      const given = { ...wanted, timeout: wait ?? { seconds: 0n, nanos: 0 } }
      return unless("action.unchanged", call(updateAction, given))
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
            <Trial
              organizationId={organizationId}
              moments={moments}
              moment={chosen}
              choose={choose}
              onLine={setWrong}
              tried={form.values}
            />
          )}
          <ActivationButton
            on={reactivateAction}
            off={deactivateAction}
            of={{ id }}
            what={name}
            isOn={isActive(action)}
            consequence={t("script.off")}
          />
        </>
      }
    >
      <Editor form={form} wrong={wrong} onTyped={() => setWrong(0)} />
      {chosen && <Members moments={moments} moment={chosen} choose={choose} />}
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

type EditorProps = {
  readonly form: Form<Values>
  readonly wrong: number
  readonly onTyped: () => void
}

function Editor({ form, wrong, onTyped }: EditorProps) {
  const may = useMay()(updateAction)
  const { text, check, duration, contested, values } = controlsOf(form)
  const code = (
    <CodeArea
      label={t("script.code")}
      name="script"
      value={values.script}
      wrong={wrong}
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
    <Fields form={form} disabled={!form.dirty}>
      {contested("script", t("script.code"), code)}
      {text("name", t("field.name"), {
        ...verbatim,
        required: true,
        hint: t("script.name_hint"),
      })}
      {duration("timeout", t("script.timeout"), {
        fallback: usualSeconds,
        hint: t("script.timeout_hint"),
      })}
      {check("allowedToFail", t("script.may_fail"), t("script.may_fail_hint"))}
    </Fields>
  )
}

/** So many count where nothing is said. */
const usualSeconds = "10"

/** What a script is handed at a moment, as the server hands it. */
function Members(props: MomentProps) {
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
