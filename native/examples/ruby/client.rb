# recolva from Ruby, by Fiddle of the standard library. Arrays are packed into strings, whose bytes C reads and writes.
require "fiddle/import"

module Recolva
  extend Fiddle::Importer
  dlload ENV.fetch("RECOLVA_LIBRARY", "librecolva.so")

  ABI_VERSION = 1
  POWER_LAW = 1

  extern "int RecolvaAbiVersion()"
  extern "int DecayScoreExponential(long long, long long, long long, double*)"
  extern "int DecayScorePowerLaw(long long, long long, long long, double, double, double*)"
  extern "int DecayScoreExponentialBatch(long long*, long long, long long, long long, double*)"
  extern "int DecayScorePowerLawBatch(long long*, double*, long long, long long, long long, double, double*)"
  extern "int RecolvaScanBlock(char*, long long, int, int, double*, int, long long, double, long long, long long*, " \
         "long long*, long long*, long long*, long long*, double*, char*, long long*, long long*, long long*, long long*)"

  def self.check(status)
    raise ArgumentError, "recolva: status #{status}" unless status.zero?
  end
end

NOW = 87_400_000
DAY = 86_400_000
ROWS = 100

def doubles(*values) = values.pack("d*")
def integers(*values) = values.pack("q*")
def hex(double) = [double].pack("G").unpack1("H*")
def from_hex(text) = [text].pack("H*").unpack1("G")

# Prints one score of each model, and a batch.
def score
  one, other, many = doubles(0), doubles(0), doubles(0, 0, 0)
  Recolva.check Recolva.DecayScoreExponential(1_000_000, NOW, DAY, one)
  Recolva.check Recolva.DecayScorePowerLaw(1_000_000, NOW, DAY, 1.0, 0.5, other)
  Recolva.check Recolva.DecayScoreExponentialBatch(integers(1_000_000, -85_400_000, -171_800_000), 3, NOW, DAY, many)
  puts "exponential #{one.unpack1("d")}", "power-law #{other.unpack1("d")}", "batch #{many.unpack("d*").join(" ")}"
end

# Prints id, score and decision of each memory in a JSONL file, a block of rows at a time.
def scan(name)
  data = File.binread(name)
  data = data.byteslice(3..) if data.start_with?("\xEF\xBB\xBF".b) # a byte order mark belongs to no line
  columns = Array.new(5) { integers(*[0] * ROWS) }
  scores, prune = doubles(*[0] * ROWS), "\0".b * ROWS
  progress = Array.new(4) { integers(0) }
  memories = lines = 0
  loop do
    Recolva.check Recolva.RecolvaScanBlock(
      data, data.bytesize, 1, Recolva::POWER_LAW, doubles(86_400_000, 1), 2, NOW, 0.3, ROWS, *columns, scores, prune, *progress
    )
    records, blanks, consumed, bad_line = progress.map { |cell| cell.unpack1("q") }
    _, _, id_start, id_end, = columns.map { |column| column.unpack("q*") }
    values, decisions = scores.unpack("d*"), prune.unpack("C*")
    records.times do |i|
      puts "#{data.byteslice(id_start[i]...id_end[i])}\t#{hex(values[i])}\t#{decisions[i]}"
    end
    abort "line #{lines + bad_line} is not valid" unless bad_line.zero?
    data = data.byteslice(consumed..)
    memories += records
    lines += records + blanks
    break if data.empty?
  end
  puts "#{memories} memories, #{lines - memories} blank lines"
end

# Answers each line of standard input with status and score, of a single call and of a batch.
def vectors
  $stdin.each_line do |line|
    model, last, now, millis, exponent, importance = line.split
    last, now, millis = [last, now, millis].map { |text| Integer(text, 10) }
    single, batch = doubles(-7.25), doubles(-7.25)
    if model == "exponential"
      status = Recolva.DecayScoreExponential(last, now, millis, single)
      batch_status = Recolva.DecayScoreExponentialBatch(integers(last), 1, now, millis, batch)
    else
      exponent, importance = from_hex(exponent), from_hex(importance)
      status = Recolva.DecayScorePowerLaw(last, now, millis, exponent, importance, single)
      batch_status = Recolva.DecayScorePowerLawBatch(integers(last), doubles(importance), 1, now, millis, exponent, batch)
    end
    puts "#{status} #{hex(single.unpack1("d"))} #{batch_status} #{hex(batch.unpack1("d"))}"
  end
end

version = Recolva.RecolvaAbiVersion
abort "ABI version must be #{Recolva::ABI_VERSION}, got #{version}" unless version == Recolva::ABI_VERSION
abort "usage: client.rb FILE.jsonl | client.rb --vectors" unless ARGV.size == 1
if ARGV.first == "--vectors"
  vectors
else
  score
  scan(ARGV.first)
end
