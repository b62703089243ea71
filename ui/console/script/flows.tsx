import {
  DiagnosisService,
  type ScriptMoment,
} from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { type Column, Table } from "../../kit/index.ts"
import { DialogButton, defineForm, formatOptions, OrderedSelect } from "../form/index.ts"
import { actionColumn, Clip, HistoryButton, streamResource } from "../list/index.ts"
import { call, ignoreError, Section, t, useRead } from "../shell/index.ts"
import { momentKey, momentLabel } from "./script.ts"

const { getFlow, listActions, setTriggerActions } = ManagementService.method

type FlowsProps = { readonly organizationId: string }

/** Scripts that run at each moment, in order. */
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
    { label: t("script.moment"), cell: (moment) => momentLabel(moment) },
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
          of={streamResource("flow", `${organizationId}/${moment.flowType}`)}
          name={momentLabel(moment)}
        />
        <DialogButton
          small
          family={`flow-${momentKey(moment)}`}
          needs={setTriggerActions}
          label={t("action.edit")}
          name={momentLabel(moment)}
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
      <Table caption={t("script.when")} columns={columns} rows={moments} keyOf={momentKey} />
    </Section>
  )
}

type FlowBinding = FlowsProps & {
  readonly moment: ScriptMoment
  readonly bound: readonly string[]
  readonly options: Parameters<typeof OrderedSelect>[0]["options"]
}

const flowForm = ({ moment, bound, options, organizationId }: FlowBinding) =>
  defineForm<{ actionIds: readonly string[] }, unknown>({
    initial: { actionIds: bound },
    save: ({ actionIds }) => {
      const { flowType, triggerType } = moment
      const request = { flowType, triggerType, actionIds: [...actionIds] }
      return ignoreError(
        "action.unchanged",
        call(setTriggerActions, request, { within: organizationId }),
      )
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
        formatOptions(options),
      ),
  })
