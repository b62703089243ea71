/** The Latchkey logo, a key in the current text color. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 24 24" aria-hidden="true">
      <g
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
      >
        <circle cx="7.75" cy="7.75" r="4.75" />
        <path d="m11.25 11.25 9.5 9.5m-5.25-5.25 3-3m.25 6.25 2.75-2.75" />
      </g>
    </svg>
  )
}
