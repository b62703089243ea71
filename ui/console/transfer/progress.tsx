import { t } from "../shell/index.ts"

export type TransferProgress = { readonly done: number; readonly total: number }

type ProgressProps = { readonly label: string; readonly current: TransferProgress | undefined }

/** A progress bar. */
export function Progress({ label, current = { done: 0, total: 1 } }: ProgressProps) {
  const { done, total } = current
  return (
    <>
      <progress aria-label={label} value={done} max={total} />
      <span className="quiet small" role="status">
        {t("transfer.progress", { done, total })}
      </span>
    </>
  )
}
