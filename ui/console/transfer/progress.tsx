import { t } from "../shell/index.ts"

export type TransferProgress = { readonly done: number; readonly total: number }

type ProgressProps = { readonly label: string; readonly standing: TransferProgress | undefined }

/** How far something is that takes its time. */
export function Progress({ label, standing = { done: 0, total: 1 } }: ProgressProps) {
  const { done, total } = standing
  return (
    <>
      <progress aria-label={label} value={done} max={total} />
      <span className="quiet small" role="status">
        {t("transfer.progress", { done, total })}
      </span>
    </>
  )
}
