import { CatchBoundary, type ErrorComponentProps } from "@tanstack/react-router"
import { type ReactNode, Suspense } from "react"
import { Alert, Button, Skeleton } from "../../kit/index.ts"
import { useReload } from "./call.ts"
import { isHidden, refusalOf } from "./refusal.ts"
import { t } from "./text.ts"

type PagePartProps = { readonly rows?: number; readonly children: ReactNode }

/**
 * A part of a page with its own loading and error state, so that the rest is independent of it.
 * Hidden if the caller can't read it.
 */
export function PagePart({ rows = 3, children }: PagePartProps) {
  return (
    <CatchBoundary getResetKey={() => location.href} errorComponent={PartFailed}>
      <Suspense fallback={<Skeleton rows={rows} label={t("list.loading")} />}>{children}</Suspense>
    </CatchBoundary>
  )
}

function PartFailed({ error, reset }: ErrorComponentProps) {
  const reload = useReload()
  const refusal = refusalOf(error)
  if (isHidden(refusal)) return null
  const again = async () => {
    await reload()
    reset()
  }
  return (
    <Alert tone="danger">
      {refusal.message}{" "}
      <Button small onClick={() => void again()}>
        {t("gate.retry")}
      </Button>
    </Alert>
  )
}
