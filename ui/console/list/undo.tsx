import {
  type Change,
  type GetUndoResponse,
  HistoryService,
} from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { Button, toSentence } from "../../kit/index.ts"
import { DialogOpener } from "../form/index.ts"
import { call, has, notify, PagePart, RefusalAlert, t, useAction, useRead } from "../shell/index.ts"
import { Differences } from "./differences.tsx"
import type { HistoryResource } from "./history-resource.ts"

type UndoProps = { readonly of: HistoryResource; readonly change: Change; readonly subject: string }

/** Undoes a change after a preview, or explains why it can't be undone. */
export function UndoButton({ of, change, subject }: UndoProps) {
  if (!change.undoable) return null
  const label = t("history.undo")
  return (
    <DialogOpener label={label} name={subject} title={`${label}: ${subject}`}>
      {(close) => (
        <PagePart rows={3}>
          <UndoDialog of={of} change={change} close={close} />
        </PagePart>
      )}
    </DialogOpener>
  )
}

type UndoDialogProps = Omit<UndoProps, "subject"> & { readonly close: () => void }

function UndoDialog({ of, change: { sequence }, close }: UndoDialogProps) {
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
      {possible ? <UndoPreview undo={undo} /> : <UndoUnavailable undo={undo} />}
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

type UndoPreviewProps = { readonly undo: GetUndoResponse }

/** The fields that change, or the resulting events if there are none. */
function UndoPreview({ undo: { differences, types, typeWords } }: UndoPreviewProps) {
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

/** Translated if the catalog contains the reason. */
function UndoUnavailable({ undo: { refusal, words } }: UndoPreviewProps) {
  const textKey = [`history.refused_${refusal.replace("history.", "")}`, `fault.${refusal}`].find(
    has,
  )
  return textKey ? <p>{t(textKey)}</p> : <p lang="en">{toSentence(words)}</p>
}
