import {
  type Change,
  type GetUndoResponse,
  HistoryService,
} from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { Button, sentenceOf } from "../../kit/index.ts"
import { DialogOpener } from "../form/index.ts"
import { call, has, notify, Part, RefusalAlert, t, useAction, useRead } from "../shell/index.ts"
import { Differences } from "./differences.tsx"
import type { HistoryResource } from "./history-resource.ts"

type UndoProps = { readonly of: HistoryResource; readonly change: Change; readonly what: string }

/** Takes a change back; what that would do, or why nothing does, is said first. */
export function UndoButton({ of, change, what }: UndoProps) {
  if (!change.undoable) return null
  const label = t("history.undo")
  return (
    <DialogOpener label={label} name={what} title={`${label}: ${what}`}>
      {(close) => (
        <Part rows={3}>
          <Undo of={of} change={change} close={close} />
        </Part>
      )}
    </DialogOpener>
  )
}

type OpenProps = Omit<UndoProps, "what"> & { readonly close: () => void }

function Undo({ of, change: { sequence }, close }: OpenProps) {
  const resource = { resource: of }
  const undo = useRead(HistoryService.method.getUndo, { resource, sequence })
  const { possible, lastSequence } = undo
  const action = useAction(
    () => call(HistoryService.method.undoChange, { resource, sequence, lastSequence }),
    () => {
      close()
      notify({ text: t("history.undone") })
    },
  )
  return (
    <>
      {possible ? <Consequence undo={undo} /> : <WhyNot undo={undo} />}
      <RefusalAlert refusal={action.refusal} />
      <div className="form-actions">
        {possible && (
          <Button kind="primary" disabled={action.busy} onClick={() => action.run()}>
            {t("history.undo")}
          </Button>
        )}
        <Button onClick={close}>{possible ? t("form.cancel") : t("history.close")}</Button>
      </div>
    </>
  )
}

type WithUndo = { readonly undo: GetUndoResponse }

/** The fields that change; of what no field says, what will have happened. */
function Consequence({ undo: { differences, types, typeWords } }: WithUndo) {
  return (
    <div className="stack">
      <p>{t("history.undo_lead")}</p>
      <Differences rows={differences} />
      {(differences.length === 0 || types.length > 1) && (
        <ul className="value-list small">
          {types.map((type, at) => (
            <li key={type}>{typeWords[at]}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** In the reader's language where the catalogue knows it. */
function WhyNot({ undo: { refusal, words } }: WithUndo) {
  const known = [`history.refused_${refusal.replace("history.", "")}`, `fault.${refusal}`].find(has)
  return known ? <p>{t(known)}</p> : <p lang="en">{sentenceOf(words)}</p>
}
