type SkeletonProps = { readonly rows: number; readonly label: string }

/** Placeholder for loading rows, of the same height. */
export function Skeleton({ rows, label }: SkeletonProps) {
  return (
    <div className="skeleton" role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, row) => row).map((row) => (
        <div className="skeleton-row" key={row}>
          <span className="skeleton-line" />
          <span className="skeleton-line skeleton-short" />
        </div>
      ))}
    </div>
  )
}
