import {
  DiagnosisService,
  type ScriptMoment,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { type Column, Table } from "../../kit/index.ts"
import { DialogButton, formOf, namesBy, OrderedSelect } from "../form/index.ts"
import { actionColumn, Clip, HistoryButton, streamOf } from "../list/index.ts"
import { call, Section, t, unless, useRead } from "../shell/index.ts"
import { keyOf, wordsOf } from "./script.ts"

const { getFlow, listActions, setTriggerActions } = ManagementService.method

type FlowsProps = { readonly organizationId: string }

/** Which scripts run when, in which order. */
export function Flows({ organizationId }: FlowsProps) {
  const within = { within: organizationId }
  const { result } = useRead(listActions, { query: { limit: 1000, asc: true } }, within)
  const { moments } = useRead(DiagnosisService.method.listScriptMoments)
  const flows = [
    useRead(getFlow, { type: "1" }, within),
    useRead(getFlow, { type: "2" }, within),
    useRead(getFlow, { type: "3" }, within),
    useRead(getFlow, { type: "4" }, within),
  ].map(({ flow }) => flow)
  const options = result.map(({ id, name }) => ({ value: id, label: name }))
  const boundAt = ({ flowType, triggerType }: ScriptMoment) =>
    flows
      .find((flow) => flow?.type?.id === flowType)
      ?.triggerActions.find((each) => each.triggerType?.id === triggerType)?.actions ?? []
  const columns: readonly Column<ScriptMoment>[] = [
    { label: t("script.moment"), cell: (moment) => wordsOf(moment) },
    {
      label: t("nav.scripts"),
      cell: (moment) => (
        <Clip
          text={boundAt(moment)
            .map(({ name }) => name)
            .join(" → ")}
        />
      ),
    },
    actionColumn((moment) => (
      <>
        <HistoryButton
          of={streamOf("flow", `${organizationId}/${moment.flowType}`)}
          name={wordsOf(moment)}
        />
        <DialogButton
          small
          family={`flow-${keyOf(moment)}`}
          needs={setTriggerActions}
          label={t("action.edit")}
          name={wordsOf(moment)}
          form={flowForm({
            moment,
            options,
            organizationId,
            bound: boundAt(moment).map(({ id }) => id),
          })}
        />
      </>
    )),
  ]
  return (
    <Section title={t("script.when")}>
      <Table caption={t("script.when")} columns={columns} rows={moments} keyOf={keyOf} />
    </Section>
  )
}

type FlowBinding = FlowsProps & {
  readonly moment: ScriptMoment
  readonly bound: readonly string[]
  readonly options: Parameters<typeof OrderedSelect>[0]["options"]
}

const flowForm = ({ moment, bound, options, organizationId }: FlowBinding) =>
  formOf<{ actionIds: readonly string[] }, unknown>({
    initial: { actionIds: bound },
    save: ({ actionIds }) => {
      const { flowType, triggerType } = moment
      const wanted = { flowType, triggerType, actionIds: [...actionIds] }
      return unless("action.unchanged", call(setTriggerActions, wanted, { within: organizationId }))
    },
    fields: ({ values: { actionIds }, change, contested }) =>
      contested(
        "actionIds",
        t("script.ordered"),
        <OrderedSelect
          label={t("script.ordered")}
          options={options}
          values={actionIds}
          onChange={(chosen) => change({ actionIds: chosen })}
        />,
        namesBy(options),
      ),
  })
