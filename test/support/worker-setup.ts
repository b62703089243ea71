/** What the worlds of a run decide is sent to another store, as from one process to another. */
export function setup(): () => void {
  process.env.LATCHKEY_TEST_WORKER = "1"
  return () => {
    delete process.env.LATCHKEY_TEST_WORKER
  }
}
